#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "troupe/actors/ports/input_queue.hpp"

namespace troupe {

/// The tensors that an actor with its own firing rule (FiringRule::own) has taken from its inputs and has not yet
/// returned to their producers.
class HeldArrivals {
 public:
  /// The input from which a tensor was taken, and the slot of the edge in which the tensor lies.
  struct Origin {
    std::uint32_t input, slot;
  };

  bool empty() const { return held_.empty(); }
  void add(std::uint32_t input, const Arrival& arrival);
  /// Removes the tensor of an arrival, which is about to be returned. Returns false if the tensor was not held.
  bool remove(std::uint32_t input, const Arrival& arrival);
  /// Marks the held tensors whose memory overlaps the memory of `sent`; none if `sent` is null. The memory is in use
  /// until the consumers have returned `sent`.
  void note_sent(const Tensor& sent);
  /// Removes the tensors that note_sent() has not marked, and returns their origins.
  std::vector<Origin> take_unsent();
  /// Removes all tensors and returns their origins.
  std::vector<Origin> take_all();

 private:
  struct Held : Origin {
    std::span<const std::byte> memory;
    bool sent = false;
  };

  std::vector<Held> held_;
};

}  // namespace troupe
