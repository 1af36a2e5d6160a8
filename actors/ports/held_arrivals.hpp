#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "troupe/actors/ports/input_queue.hpp"

namespace troupe {

/// The tensors that an actor with its own firing rule has taken and not returned yet.
class HeldArrivals {
 public:
  /// The input and the slot from which a tensor was taken.
  struct Origin {
    std::uint32_t input, slot;
  };

  bool empty() const { return held_.empty(); }
  void add(std::uint32_t input, const Arrival& arrival);
  /// Removes a tensor. Returns false if it was not held.
  bool remove(std::uint32_t input, const Arrival& arrival);
  /// Marks the held tensors whose memory a sent tensor shares: the memory is in use until the consumers have returned
  /// the sent tensor.
  void note_sent(const Tensor& sent);
  /// Removes and returns the tensors whose memory was not sent.
  std::vector<Origin> take_unsent();
  /// Removes and returns all tensors.
  std::vector<Origin> take_all();

 private:
  struct Held : Origin {
    std::span<const std::byte> memory;
    bool sent = false;
  };

  std::vector<Held> held_;
};

}  // namespace troupe
