#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// The bytes of a tensor's elements; empty if the tensor is null.
std::span<const std::byte> memory_of(const Tensor& tensor);
/// Whether some bytes belong to both.
bool overlap(std::span<const std::byte> a, std::span<const std::byte> b);

/// The tensors in the slots of an actor's outputs that consumers have not returned yet.
///
/// The elements of a sent tensor must not change before its slot is free. If other handles to the memory of a tensor
/// exist when it is sent and when its slot is free, this class compares checksums of its elements at these times. The
/// checksum of a tensor above 64 KiB covers 64 blocks of 1 KiB at equal distances. A tensor without other handles costs
/// no checksum, and a consumer may work in its memory.
class SentTensors {
 public:
  /// Notes that a slot of an output carries the tensor.
  void add(std::uint32_t output, std::uint32_t slot, const Tensor& tensor);
  /// Forgets the tensor of a slot that is free now. Returns false if its elements have changed since add(). `token` is
  /// a handle of the caller to the tensor, which does not count as another handle, or null.
  bool remove(std::uint32_t output, std::uint32_t slot, Tensor* token = nullptr);
  /// An output of which a slot carries some of these bytes. std::nullopt if there is none.
  std::optional<std::uint32_t> output_with(std::span<const std::byte> memory) const;
  void clear() { sent_.clear(); }

 private:
  struct Sent {
    std::uint32_t output, slot;
    std::span<const std::byte> memory;
    /// A handle to the tensor that was sent, if others have handles to its memory; else null.
    Tensor kept;
    std::uint64_t checksum = 0;
  };

  std::vector<Sent> sent_;
};

}  // namespace troupe
