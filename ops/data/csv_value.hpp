#pragma once

#include <cstdint>
#include <string>

#include "troupe/ops/data/csv_file.hpp"

namespace troupe {

/// The value of a field for the text in one of its columns. T is the type of the field's dtype. Throws
/// std::invalid_argument that says what is wrong with the text.
template <class T>
T csv_value(const std::string& text, const CsvField& field);

/// True if the field has a value for an empty text besides its categories and numbers.
inline bool is_missing(const std::string& text, const CsvField& field) {
  return text.empty() && field.missing.has_value();
}

/// Throws Error if the options of a field contradict each other.
void check_csv_field(const CsvField& field);

}  // namespace troupe
