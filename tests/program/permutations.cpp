// permutations SIZE COUNT: writes COUNT keyed permutations of the numbers 0 to SIZE - 1 to stdout, as 32-bit integers.
// permutations seek: prints the memory of a permutation of 10^9 numbers, and the longest time to reach one of 1,000
// positions of as many permutations from their seed and number.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "troupe/ops/core/keyed_permutation.hpp"
#include "troupe/ops/core/random.hpp"

using namespace troupe;

namespace {

constexpr std::uint64_t kSeed = 1;

int print_seek() {
  constexpr std::uint64_t kSize = 1'000'000'000;
  std::chrono::duration<double, std::micro> longest{0.0};
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    const auto position = uniform_below(kSize, kSeed, 1, i);
    const auto begin = std::chrono::steady_clock::now();
    sum += KeyedPermutation(kSize, kSeed, i)(position);
    longest = std::max<decltype(longest)>(longest, std::chrono::steady_clock::now() - begin);
  }
  std::printf("%zu bytes, at most %.1f us to a position (sum %llu)\n", sizeof(KeyedPermutation), longest.count(),
              static_cast<unsigned long long>(sum));
  return 0;
}

bool read_number(const char* text, std::uint64_t& number) {
  const auto* end = text + std::strlen(text);
  return std::from_chars(text, end, number).ptr == end && number > 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "seek") return print_seek();
  std::uint64_t size = 0, count = 0;
  if (argc != 3 || !read_number(argv[1], size) || !read_number(argv[2], count) || size > std::uint64_t{1} << 32) {
    std::fprintf(stderr, "permutations: needs SIZE COUNT or seek\n");
    return 2;
  }
  std::vector<std::uint32_t> numbers(size);
  for (std::uint64_t stream = 0; stream < count; ++stream) {
    const KeyedPermutation permutation(size, kSeed, stream);
    for (std::uint64_t i = 0; i < size; ++i) numbers[i] = static_cast<std::uint32_t>(permutation(i));
    if (std::fwrite(numbers.data(), sizeof(numbers[0]), size, stdout) != size) return 1;
  }
  return 0;
}
