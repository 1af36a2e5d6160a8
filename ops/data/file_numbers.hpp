#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <type_traits>

#include "troupe/ops/core/half.hpp"
#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// A type of numbers in files, little-endian, and the dtype of the tensors that hold them.
struct FileNumbers {
  /// Throws Error; the argument says what is wrong with a file.
  using Refuse = std::function<void(const std::string& what)>;

  std::size_t bytes;  ///< the size of one number
  DType dtype;
  bool converts;  ///< false: the numbers are the elements of the dtype
  /// Converts all numbers to the elements of a CPU tensor of `dtype`, which must be as many. Calls `refuse` with the
  /// first number that is outside of the range of the dtype.
  void (*convert)(std::span<const std::byte> numbers, const Tensor& to, const Refuse& refuse);
};

/// A number as decimal text, as short as it identifies the number.
std::string text_of(double number);
std::string text_of(std::uint64_t number);

template <class From, class To>
void convert_numbers(std::span<const std::byte> numbers, const Tensor& to, const FileNumbers::Refuse& refuse) {
  if constexpr (std::is_same_v<From, To>) {
    if (!numbers.empty()) std::memcpy(to.mutable_raw(), numbers.data(), numbers.size());
    return;
  }
  auto* const elements = reinterpret_cast<To*>(to.mutable_raw());
  for (std::size_t i = 0; i * sizeof(From) < numbers.size(); ++i) {
    From number{};
    std::memcpy(&number, numbers.data() + i * sizeof(From), sizeof(From));
    bool fits = true;
    if constexpr (std::is_same_v<From, double>) fits = std::isinf(number) || !std::isinf(static_cast<float>(number));
    if constexpr (std::is_same_v<From, std::uint64_t>) fits = number <= std::numeric_limits<std::int64_t>::max();
    if constexpr (std::is_same_v<From, double> || std::is_same_v<From, std::uint64_t>)
      if (!fits)
        refuse("has " + text_of(number) + " as element " + std::to_string(i) + ", outside the range of " +
               std::string(name_of(DTypeOf<To>::value)) + "; scale the array before it is saved");
    elements[i] = static_cast<To>(number);
  }
}

template <class From, class To>
constexpr FileNumbers file_numbers() {
  return {sizeof(From), DTypeOf<To>::value, !std::is_same_v<From, To>, convert_numbers<From, To>};
}

}  // namespace troupe
