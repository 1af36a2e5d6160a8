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

/// The exception for one sample that cannot be used, such as a label that is no class, or a record that cannot be read.
/// A fit may leave out the batch of the sample; see FitOptions::on_invalid_sample.
class InvalidSample : public Error {
 public:
  /// The value is element `element` of a tensor that has `row_elements` elements for each row of a replica's part of
  /// the batch. `message` must name the row by place_text().
  InvalidSample(std::string_view place, std::string_view message, std::int64_t element, std::int64_t row_elements)
      : Error(place, message), row_(element / row_elements) {}
  /// Row `sample` of the data set cannot be used.
  InvalidSample(std::string_view place, std::string_view message, std::int64_t sample)
      : Error(place, message), sample_(sample) {}

  /// The value of row() or sample() if it is unknown.
  static constexpr std::int64_t kUnknown = -1;
  /// The index of the row in the replica's part of the batch. Its index in the whole batch is BatchInfo::first_row
  /// more.
  std::int64_t row() const { return row_; }
  /// The row in the data set. Trainer::fit() throws an exception that has it, unless the processes of a job have
  /// different samples or the batches come from a user's actor.
  std::int64_t sample() const { return sample_; }
  /// The place of an element as errors name it: "of row 3", or "at position 2 of row 3" if rows have several elements.
  static std::string place_text(std::int64_t element, std::int64_t row_elements);

 private:
  std::int64_t row_ = kUnknown;
  std::int64_t sample_ = kUnknown;
};

/// The exception for a request of memory that the device or the process does not have.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

}  // namespace troupe
