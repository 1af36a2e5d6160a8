#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

/// The slots of one output, numbered from 0. A slot is free, or full until every consumer has returned it. Without
/// consumers all slots are always free.
class OutputSlots {
 public:
  OutputSlots(std::uint32_t capacity, std::uint32_t consumers);

  bool has_free() const { return !free_.empty(); }
  std::uint32_t free_count() const { return static_cast<std::uint32_t>(free_.size()); }
  std::uint32_t capacity() const { return static_cast<std::uint32_t>(outstanding_.size()); }
  std::uint32_t consumers() const { return consumers_; }

  /// Takes the slot that has been free for longest, and returns its number. Every consumer holds the slot then. The
  /// tensors sent last lie in different slots because of this order. Throws Error if no slot is free.
  std::uint32_t take();
  /// Takes slot `slot`. Every consumer holds it then. Throws Error if it is not free.
  void take(std::uint32_t slot);
  /// Notes that a consumer has returned a slot; `refused` says that it has not used the tensor. Returns true if this
  /// consumer was the last that held the slot, which is free now. Throws Error if the consumer did not hold the slot.
  bool give_back(std::uint32_t slot, std::uint32_t consumer, bool refused = false);
  /// Whether a consumer has returned the last tensor of the slot unused.
  bool was_refused(std::uint32_t slot) const { return refused_[slot] != 0; }
  /// The number of a consumer that holds a slot: in the first slot that is not free, the lowest number. Empty if all
  /// slots are free.
  std::optional<std::uint32_t> holder() const;

 private:
  bool is_held(std::uint32_t slot, std::uint32_t consumer) const { return held_[at(slot, consumer)] != 0; }
  std::size_t at(std::uint32_t slot, std::uint32_t consumer) const {
    return static_cast<std::size_t>(slot) * consumers_ + consumer;
  }

  std::uint32_t consumers_;
  std::vector<std::uint32_t> outstanding_;  // by slot: number of consumers that hold it
  std::vector<std::uint8_t> held_;          // by slot and consumer: 1 if the consumer holds the slot
  std::vector<std::uint8_t> refused_;       // by slot: 1 if a consumer has returned its last tensor unused
  std::vector<std::uint32_t> free_;         // the free slots, longest free first
};

}  // namespace troupe
