#pragma once

#include <memory>
#include <vector>

#include "troupe/ops/core/stream.hpp"
#include "troupe/ops/core/tensor.hpp"

namespace troupe::device {

/// Memory that devices work on. Used by one thread at a time.
class Buffer {
 public:
  /// `memory` is of bytes.
  explicit Buffer(Tensor memory) : memory_(std::move(memory)) {}
  /// Work that uses it may still be running.
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  /// Its first elements.
  Tensor tensor(std::int64_t elements, DType dtype) const { return memory_.view(Shape{elements}, dtype, 0); }
  std::size_t bytes() const { return memory_.bytes(); }
  /// Work that was launched uses it until this event.
  void use_until(Event event) { last_use_ = std::move(event); }
  bool is_free() const { return last_use_.done(); }

 private:
  Tensor memory_;
  Event last_use_;
};

/// Buffers that are used again: making one may wait for the device. Used by one thread at a time.
class Buffers {
 public:
  /// In memory of a device, or in that of the host, pinned for it.
  static Buffers on_device(Device device) { return {device, false}; }
  static Buffers on_host(Device device) { return {device, true}; }

  /// A buffer of at least so many bytes that has no other holder and that no work uses.
  std::shared_ptr<Buffer> take(std::size_t bytes);

 private:
  Buffers(Device device, bool is_pinned) : device_(device), is_pinned_(is_pinned) {}

  Device device_;
  bool is_pinned_;
  std::vector<std::shared_ptr<Buffer>> all_;
};

}  // namespace troupe::device
