#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "troupe/ops/core/hash.hpp"
#include "troupe/ops/pipeline/row_random.hpp"
#include "troupe/ops/pipeline/row_stream.hpp"

namespace troupe {

class Transform;
using TransformPtr = std::shared_ptr<const Transform>;

/// A source of rows, or a function from the rows of other transforms to new rows. A transform does not change; the
/// state of reading is in the streams that it opens. Thread-safe.
class Transform {
 public:
  Transform(const Transform&) = delete;
  Transform& operator=(const Transform&) = delete;
  virtual ~Transform() = default;

  const RowFields& fields() const { return fields_; }
  /// The number of the transform in its pipeline, one more than that of its input. Each has random numbers of its own.
  std::int64_t number() const { return number_; }
  /// The largest number of rows of a batch; 0 if the rows are no batches.
  std::int64_t batch_rows() const { return batch_rows_; }
  /// The number of rows that one job of a RowExecutor computes; a batch has a job of its own.
  std::int64_t rows_of_job() const { return batch_rows_ > 0 ? 1 : kRowsOfJob; }

  /// True if the rows can be read in any order.
  virtual bool is_indexed() const = 0;
  /// The rows of an epoch in any order. Throws Error if they cannot be read so. `this` must outlive the reader.
  virtual std::unique_ptr<RowReader> reader(const RowEpoch& epoch) const;
  /// The rows of an epoch in order. `this` must outlive the stream.
  virtual std::unique_ptr<RowStream> open(const RowEpoch& epoch) const;
  /// Adds the kind and the options of this transform and of its inputs, except functions. A position of a pipeline with
  /// another description cannot be used.
  virtual void describe(ByteSequence& to) const = 0;

 protected:
  Transform(RowFields fields, std::int64_t number, std::int64_t batch_rows = 0)
      : fields_(std::move(fields)), number_(number), batch_rows_(batch_rows) {
    check_fields(fields_);
  }
  /// A transform after `input`; its rows are batches if those of the input are.
  Transform(RowFields fields, const Transform& input)
      : Transform(std::move(fields), input.number() + 1, input.batch_rows()) {}

 private:
  static constexpr std::int64_t kRowsOfJob = 16;

  RowFields fields_;
  std::int64_t number_, batch_rows_;
};

}  // namespace troupe
