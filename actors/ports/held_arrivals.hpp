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
  /// The number of the input from which a tensor was taken, and the number of the slot that the tensor fills on the
  /// edge of that input.
  struct Origin {
    std::uint32_t input, slot;
  };

  bool empty() const { return held_.empty(); }
  std::size_t size() const { return held_.size(); }
  void add(std::uint32_t input, const Arrival& arrival);
  /// Removes the tensor of `arrival`, which the caller then returns to its producer. Returns false if the actor did not
  /// hold the tensor.
  bool remove(std::uint32_t input, const Arrival& arrival);
  /// The memory of the tensor of `arrival` if note_sent() has marked it, else no bytes.
  std::span<const std::byte> sent_memory(std::uint32_t input, const Arrival& arrival) const;
  /// Marks the held tensors whose memory overlaps the memory of `sent`, a tensor that the actor sends. The actor cannot
  /// return a marked tensor before the consumers have returned `sent`. Does nothing if `sent` is null.
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
