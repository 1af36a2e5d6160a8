#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "troupe/actors/ports/input_queue.hpp"

namespace troupe {

/// What an actor with a rule of its own has taken and not returned yet.
class HeldArrivals {
 public:
  /// Where a tensor came from.
  struct Origin {
    std::uint32_t input, slot;
  };

  bool empty() const { return held_.empty(); }
  void add(std::uint32_t input, const Arrival& arrival);
  /// False if it was not held.
  bool remove(std::uint32_t input, const Arrival& arrival);
  /// A tensor was sent, perhaps one that is held, uncopied: its memory is in use until the consumers have returned it.
  void note_sent(const Tensor& sent);
  /// Removes those whose memory was not sent.
  std::vector<Origin> take_unsent();
  /// Removes all.
  std::vector<Origin> take_all();

 private:
  struct Held : Origin {
    std::span<const std::byte> memory;
    bool sent = false;
  };

  std::vector<Held> held_;
};

}  // namespace troupe
