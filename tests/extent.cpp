#include "troupe/tests/extent.hpp"

#include <algorithm>
#include <cstdlib>

namespace troupe::testing {

namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace

bool has_sanitizer() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

std::uint64_t fuzz_cases(std::uint64_t all) {
  return number_from("TROUPE_FUZZ_PLANS", has_sanitizer() ? all / 6 : all);
}

std::uint64_t schedules(std::uint64_t all) {
#if defined(__SANITIZE_THREAD__)
  const std::uint64_t reduced = 1;
#else
  const auto reduced = has_sanitizer() ? std::max<std::uint64_t>(3, all / 20) : all;
#endif
  return number_from("TROUPE_FUZZ_PLANS", std::min(all, reduced));
}

std::uint64_t fuzz_seed() {
  return number_from("TROUPE_FUZZ_SEED", 1);
}

}  // namespace troupe::testing
