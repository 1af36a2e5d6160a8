#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

std::string text_of(std::string_view place, std::string_view what) {
  std::string text("[");
  text.append(place).append("] ").append(what);
  return text;
}

}  // namespace

Error::Error(std::string_view place, std::string_view what) : std::runtime_error(text_of(place, what)) {}

}  // namespace troupe
