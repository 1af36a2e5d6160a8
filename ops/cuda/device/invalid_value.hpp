#pragma once

#include <memory>
#include <string>

#include "troupe/ops/cuda/device/check.hpp"

namespace troupe::cuda {

/// What a kernel found wrong with a value, in host memory that the device can write. The first one counts. It has a
/// cache line of its own.
struct alignas(64) InvalidValue {
  enum class Kind : int { none, label, index, not_finite, rows, batch_rows };

  int taken = 0;     // the kernel that sets it writes the rest
  int complete = 0;  // the rest is written
  const char* op = nullptr;
  Kind kind = Kind::none;
  long long place = 0, value = 0, bound = 0;
  float number = 0.0F;

  /// The error that the CPU's kernel would throw.
  std::string text() const;
};

/// The note of one stream. All of the process come from a pool, which keeps its memory: to free pinned memory would
/// wait for all work of the GPU. Thread-safe.
class InvalidValueNote {
 public:
  /// Throws Error if there is no pinned memory.
  InvalidValueNote();
  /// Where kernels write.
  InvalidValue* on_device() const { return on_device_; }
  /// Throws Error if a kernel has found an invalid value.
  void check() const;
  /// It does not return to the pool.
  void keep_for_ever() const;

 private:
  std::shared_ptr<InvalidValue> note_;
  InvalidValue* on_device_ = nullptr;
};

}  // namespace troupe::cuda
