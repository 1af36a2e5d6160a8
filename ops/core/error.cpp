#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

std::string text_of(std::string_view place, std::string_view message) {
  std::string text("[");
  text.append(place).append("] ").append(message);
  return text;
}

}  // namespace

Error::Error(std::string_view place, std::string_view message) : std::runtime_error(text_of(place, message)) {}

}  // namespace troupe
