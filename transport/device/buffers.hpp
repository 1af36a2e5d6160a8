#pragma once

#include <memory>
#include <vector>

#include "troupe/ops/core/stream.hpp"
#include "troupe/ops/core/tensor.hpp"

namespace troupe::device {

/// A block of device memory, or of pinned host memory, for work that is launched on a stream of a device. Must be used
/// by one thread at a time.
class Buffer {
 public:
  /// `memory` must be a uint8 tensor.
  explicit Buffer(Tensor memory) : memory_(std::move(memory)) {}
  /// Drops the memory once the last event of use_until() is done. The destructor does not block.
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  /// Returns a tensor [elements] of `dtype` that shares the memory from its first byte on.
  Tensor tensor(std::int64_t elements, DType dtype) const { return memory_.view(Shape{elements}, dtype, 0); }
  std::size_t bytes() const { return memory_.bytes(); }
  /// Notes that launched work uses the memory until `event` is done. Replaces the event of the previous call.
  void use_until(Event event) { last_use_ = std::move(event); }
  bool is_free() const { return last_use_.done(); }

 private:
  Tensor memory_;
  Event last_use_;
};

/// A pool of buffers. It reuses free buffers, because allocating memory may wait for the device. Must be used by one
/// thread at a time.
class Buffers {
 public:
  /// on_device() makes a pool in memory of the device, on_host() one in host memory that is pinned for the device.
  static Buffers on_device(Device device) { return {device, false}; }
  static Buffers on_host(Device device) { return {device, true}; }

  /// Returns a buffer of at least `bytes` bytes that has no other holder and that no launched work uses: a buffer of
  /// the pool that has at most twice as many bytes, or a new buffer, which the pool keeps.
  std::shared_ptr<Buffer> take(std::size_t bytes);

 private:
  Buffers(Device device, bool is_pinned) : device_(device), is_pinned_(is_pinned) {}

  Device device_;
  bool is_pinned_;
  std::vector<std::shared_ptr<Buffer>> all_;
};

}  // namespace troupe::device
