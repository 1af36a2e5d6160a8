#include "troupe/ops/core/error.hpp"

namespace troupe {

Error::Error(std::string_view place, std::string_view message)
    : std::runtime_error("[" + std::string(place) + "] " + std::string(message)) {}

std::string InvalidSample::place_text(std::int64_t element, std::int64_t row_elements) {
  const auto row = "of row " + std::to_string(element / row_elements);
  return row_elements == 1 ? row : "at position " + std::to_string(element % row_elements) + " " + row;
}

}  // namespace troupe
