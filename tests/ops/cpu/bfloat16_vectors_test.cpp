#include "troupe/ops/cpu/bfloat16_vectors.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "troupe/ops/core/random.hpp"
#include "troupe/tests/catch.hpp"

namespace troupe::ops_test {

namespace {

/// Numbers whose conversion has a rule of its own, and random bit patterns: 4,096 in all.
std::vector<float> special_numbers() {
  using Limits = std::numeric_limits<float>;
  std::vector<float> numbers{0.0F,
                             -0.0F,
                             1.0F,
                             -1.0F,
                             Limits::infinity(),
                             -Limits::infinity(),
                             Limits::max(),
                             -Limits::max(),
                             Limits::denorm_min(),
                             -Limits::denorm_min(),
                             std::bit_cast<float>(0x7F800001U),
                             std::bit_cast<float>(0xFF800001U),
                             std::bit_cast<float>(0x7FFFFFFFU),
                             std::bit_cast<float>(0xFFFFFFFFU),
                             std::bit_cast<float>(0x3F808000U),
                             std::bit_cast<float>(0x3F818000U)};
  for (std::uint64_t i = numbers.size(); i < 4096; ++i)
    numbers.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(uniform_below(std::uint64_t{1} << 32, 3, 1, i))));
  return numbers;
}

bool same_numbers(const BFloat16* a, const BFloat16* b, std::int64_t count) {
  return std::memcmp(a, b, static_cast<std::size_t>(count) * sizeof(BFloat16)) == 0;
}

}  // namespace

TEST_CASE("vectors of numbers are rounded to bfloat16 like single numbers, NaN and infinity included", "[kernel]") {
  const auto numbers = special_numbers();
  for (std::size_t at = 0; at < numbers.size(); at += cpu::kEvenOdd) {
    BFloat16 expected[cpu::kEvenOdd], in_order[cpu::kEvenOdd], in_pairs[cpu::kEvenOdd];
    for (std::size_t i = 0; i < cpu::kEvenOdd; ++i) expected[i] = BFloat16(numbers[at + i]);
    for (const std::size_t half : {0, 16}) {
      const cpu::Vector16 vector = cpu::vector_at(&numbers[at + half]);
      cpu::store(vector, in_order + half);
    }
    cpu::EvenOdd pairs;
    cpu::load(&numbers[at], pairs);
    cpu::store(pairs, in_pairs);
    INFO("from number " << at);
    CHECK(same_numbers(in_order, expected, cpu::kEvenOdd));
    CHECK(same_numbers(in_pairs, expected, cpu::kEvenOdd));
  }
}

TEST_CASE("vectors of bfloat16 numbers become the floats of single numbers", "[kernel]") {
  std::vector<BFloat16> numbers;
  for (const auto number : special_numbers()) numbers.push_back(BFloat16(number));
  for (std::size_t at = 0; at < numbers.size(); at += cpu::kEvenOdd) {
    float expected[cpu::kEvenOdd], in_order[cpu::kEvenOdd], in_pairs[cpu::kEvenOdd];
    for (std::size_t i = 0; i < cpu::kEvenOdd; ++i) expected[i] = static_cast<float>(numbers[at + i]);
    for (const std::size_t half : {0, 16}) {
      cpu::Vector16 vector;
      cpu::load(&numbers[at + half], vector);
      cpu::vector_at(in_order + half) = vector;
    }
    cpu::EvenOdd pairs;
    cpu::load(&numbers[at], pairs);
    cpu::store(pairs, in_pairs);
    INFO("from number " << at);
    CHECK(std::memcmp(in_order, expected, sizeof(expected)) == 0);
    CHECK(std::memcmp(in_pairs, expected, sizeof(expected)) == 0);
  }
}

TEST_CASE("numbers are cleared by the signs that comparisons find", "[kernel]") {
  const auto numbers = special_numbers();
  for (std::size_t at = 0; at < numbers.size(); at += 16) {
    cpu::Vector16 kept, cleared = cpu::vector_at(&numbers[at]);
    for (int i = 0; i < 16; ++i) kept[i] = static_cast<float>(i + 1);
    cpu::keep_where_positive(cleared, kept);
    cpu::clear_where_negative(cleared);
    for (int i = 0; i < 16; ++i) {
      const auto number = numbers[at + static_cast<std::size_t>(i)];
      INFO("number " << number);
      CHECK(kept[i] == (number > 0.0F ? static_cast<float>(i + 1) : 0.0F));
      const float expected = number < 0.0F ? 0.0F : number;
      CHECK(std::bit_cast<std::uint32_t>(static_cast<float>(cleared[i])) == std::bit_cast<std::uint32_t>(expected));
    }
  }
}

}  // namespace troupe::ops_test
