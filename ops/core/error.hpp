#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace troupe {

/// The exception that the library throws. The text begins with the place of the error in brackets, such as the name of
/// an op: `[conv2d] ...`.
class Error : public std::runtime_error {
 public:
  Error(std::string_view place, std::string_view message);
};

/// The exception for a value in one row of a batch that an op cannot use, such as a label that is no class. Training
/// may leave the row out.
class InvalidSample : public Error {
 public:
  /// The value is element `element` of a tensor that has `row_elements` elements for each row of a replica's part of
  /// the batch. `message` must name the row by place_text().
  InvalidSample(std::string_view place, std::string_view message, std::int64_t element, std::int64_t row_elements)
      : Error(place, message), row_(element / row_elements) {}

  /// The index of the row in the replica's part of the batch. Its index in the whole batch is BatchInfo::first_row
  /// more.
  std::int64_t row() const { return row_; }
  /// The place of an element as errors name it: "of row 3", or "at position 2 of row 3" if rows have several elements.
  static std::string place_text(std::int64_t element, std::int64_t row_elements);

 private:
  std::int64_t row_;
};

/// The exception for a request of memory that the device or the process does not have.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

}  // namespace troupe
