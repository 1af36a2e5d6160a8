#include "troupe/transport/zeromq/message_memory.hpp"

#include <cstdlib>
#include <string_view>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace troupe::zeromq {

#ifdef __GLIBC__

namespace {

bool is_set_by_environment() {
  const char* const tunables = std::getenv("GLIBC_TUNABLES");
  if (tunables != nullptr && std::string_view(tunables).find("glibc.malloc.") != std::string_view::npos) return true;
  for (const char* const name : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_"})
    if (std::getenv(name) != nullptr) return true;
  return false;
}

}  // namespace

void keep_message_memory() {
  constexpr int kMapThreshold = 32 << 20;
  static const bool done = [] {
    if (is_set_by_environment()) return false;
    return mallopt(M_MMAP_THRESHOLD, kMapThreshold) == 1 && mallopt(M_TRIM_THRESHOLD, 2 * kMapThreshold) == 1;
  }();
  (void)done;
}

#else

void keep_message_memory() {}

#endif

}  // namespace troupe::zeromq
