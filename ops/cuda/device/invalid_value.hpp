#pragma once

#include <memory>
#include <string>

#include "troupe/ops/cuda/device/check.hpp"

namespace troupe::cuda {

/// The first invalid value that a kernel reports, in host memory that the device can write. It has its own cache line.
struct alignas(64) InvalidValue {
  /// The kind of a value, which gives the other members their meaning; see text().
  enum class Kind : int { none, label, index, not_finite, rows, batch_rows };

  int taken = 0;     // set by the kernel that writes the rest
  int complete = 0;  // set when the rest is written
  const char* op = nullptr;
  Kind kind = Kind::none;
  long long place = 0, value = 0, bound = 0;
  float number = 0.0F;

  /// The error text that the CPU's kernel would throw.
  std::string text() const;
};

/// The note of one stream. A pool keeps the memory of all notes of the process, because freeing pinned memory would
/// wait for all work of the GPU. Thread-safe.
class InvalidValueNote {
 public:
  /// Throws Error if no pinned memory can be allocated.
  InvalidValueNote();
  /// The address at which kernels write.
  InvalidValue* on_device() const { return on_device_; }
  /// Throws Error if a kernel has reported an invalid value.
  void check() const;
  /// Keeps the note out of the pool.
  void keep_for_ever() const;

 private:
  std::shared_ptr<InvalidValue> note_;
  InvalidValue* on_device_ = nullptr;
};

}  // namespace troupe::cuda
