#pragma once

#include <memory>
#include <string>

#include "troupe/ops/cuda/device/check.hpp"

namespace troupe::cuda {

/// A note of the first invalid value that a kernel of a stream reports. It lies in host memory that the device can
/// write, on its own cache line.
struct alignas(64) InvalidValue {
  /// The kind of an invalid value, which gives the other members their meaning. `label` and `index`: the label or index
  /// `value`, element `place` of a tensor with `row_elements` elements in each row, is negative or not below `bound`.
  /// `not_finite`: the value is `number`. `rows`: a batch info has `value` rows from row `place` on, but a tensor has
  /// `bound` rows. `batch_rows`: the `value` rows from row `place` on are not all among the `bound` rows of a batch.
  /// `none`: no value is reported.
  enum class Kind : int { none, label, index, not_finite, rows, batch_rows };

  int taken = 0;     // set to 1 by the first thread that reports, which then writes the others
  int complete = 0;  // set to 1 by that thread when all members are written
  const char* op = nullptr;
  Kind kind = Kind::none;
  long long place = 0, value = 0, bound = 0, row_elements = 1;
  float number = 0.0F;

  /// The error text for the value, equal to that of the op's kernel for CPUs.
  std::string text() const;
};

/// Owns the InvalidValue of one stream; copies share it. A pool keeps the memory of all notes of the process, because
/// freeing pinned memory would wait for all work of the GPU. Thread-safe.
class InvalidValueNote {
 public:
  /// Throws Error if no pinned memory can be allocated.
  InvalidValueNote();
  /// Returns the address on the device at which kernels write the note.
  InvalidValue* on_device() const { return on_device_; }
  /// Throws Error with the op and the value if a kernel has reported an invalid value, InvalidSample for a label or an
  /// index.
  void check() const;
  /// Keeps the note out of the pool for ever, because work may still write to it.
  void keep_for_ever() const;

 private:
  std::shared_ptr<InvalidValue> note_;
  InvalidValue* on_device_ = nullptr;
};

}  // namespace troupe::cuda
