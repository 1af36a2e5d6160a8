#pragma once

#include <memory>
#include <vector>

#include "troupe/ops/core/stream.hpp"
#include "troupe/ops/core/tensor.hpp"

namespace troupe::device {

/// A block of device memory, or of pinned host memory, that launched work of devices uses. Used by one thread at a
/// time.
class Buffer {
 public:
  /// `memory` must be a uint8 tensor.
  explicit Buffer(Tensor memory) : memory_(std::move(memory)) {}
  /// The memory is freed once the event of use_until() is done; the destructor does not block.
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  /// Returns the first `elements` elements of the memory, as a tensor of one axis.
  Tensor tensor(std::int64_t elements, DType dtype) const { return memory_.view(Shape{elements}, dtype, 0); }
  std::size_t bytes() const { return memory_.bytes(); }
  /// Notes that launched work uses the memory until `event`. The event replaces the one that was noted before.
  void use_until(Event event) { last_use_ = std::move(event); }
  bool is_free() const { return last_use_.done(); }

 private:
  Tensor memory_;
  Event last_use_;
};

/// A pool of buffers, which are used again because allocating memory may wait for the device. Used by one thread at a
/// time.
class Buffers {
 public:
  /// on_device() makes a pool in memory of the device, on_host() one in host memory that is pinned for the device.
  static Buffers on_device(Device device) { return {device, false}; }
  static Buffers on_host(Device device) { return {device, true}; }

  /// Returns a buffer of at least `bytes` that has no other holder and that no work uses: one of the pool that has at
  /// most twice as many bytes, or a new one.
  std::shared_ptr<Buffer> take(std::size_t bytes);

 private:
  Buffers(Device device, bool is_pinned) : device_(device), is_pinned_(is_pinned) {}

  Device device_;
  bool is_pinned_;
  std::vector<std::shared_ptr<Buffer>> all_;
};

}  // namespace troupe::device
