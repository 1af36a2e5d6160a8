#include "troupe/ops/core/float_mode.hpp"

#include "troupe/tests/catch.hpp"

using namespace troupe;

#if defined(__x86_64__) || defined(__aarch64__)
namespace {

#ifdef __x86_64__
constexpr std::uint64_t kFlushes = kDefaultFloatMode | 0x8040;
#else
constexpr std::uint64_t kFlushes = std::uint64_t{1} << 24;
#endif

float half_of(float number) {
  const volatile float at_run_time = number;
  return at_run_time * 0.5F;
}

}  // namespace

TEST_CASE("the default mode keeps subnormal numbers, and the former mode is restored") {
  constexpr float kSmallest = 1.17549435e-38F;
  const auto before = float_mode();
  set_float_mode(kFlushes);
  const auto flushed = half_of(kSmallest);
  {
    const DefaultFloatMode mode;
    CHECK(half_of(kSmallest) > 0.0F);
  }
  const auto again = half_of(kSmallest);
  set_float_mode(before);
  CHECK(flushed == 0.0F);
  CHECK(again == 0.0F);
  CHECK(half_of(kSmallest) > 0.0F);
}
#endif
