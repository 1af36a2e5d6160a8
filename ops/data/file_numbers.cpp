#include "troupe/ops/data/file_numbers.hpp"

#include <array>
#include <charconv>

namespace troupe {

std::string text_of(double number) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

std::string text_of(std::uint64_t number) {
  return std::to_string(number);
}

}  // namespace troupe
