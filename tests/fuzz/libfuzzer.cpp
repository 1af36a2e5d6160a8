// What libFuzzer calls, built once for every target.
#include "troupe/ops/core/error.hpp"
#include "troupe/tests/fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  troupe::fuzz::Input input(std::as_bytes(std::span(data, size)));
  try {
    troupe::fuzz::TROUPE_FUZZ_TARGET(input);
  } catch (const troupe::Error&) {
    // Damage has been found. Any other exception ends the program.
  }
  return 0;
}
