#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

/// The slots of one output of an actor, numbered from 0; each holds one tensor that the actor has sent. A slot is full
/// from take() until every consumer has returned it, and free otherwise. Without consumers all slots are always free.
class OutputSlots {
 public:
  OutputSlots(std::uint32_t capacity, std::uint32_t consumers);

  bool has_free() const { return !free_.empty(); }
  std::uint32_t free_count() const { return static_cast<std::uint32_t>(free_.size()); }
  std::uint32_t capacity() const { return static_cast<std::uint32_t>(outstanding_.size()); }
  std::uint32_t consumers() const { return consumers_; }

  /// Takes the slot that has been free for longest, and returns its number. Every consumer then holds the slot. With
  /// consumers that return slots in the order in which they got them, the last tensors sent thus lie in different
  /// slots. Throws Error if no slot is free.
  std::uint32_t take();
  /// Takes slot `slot`, which every consumer then holds. Throws Error if the slot is not free.
  void take(std::uint32_t slot);
  /// Notes that a consumer has returned a slot; `refused` says that the consumer has not used the tensor in the slot.
  /// Returns true if the slot is free now, because no other consumer holds it. Throws Error if the consumer did not
  /// hold the slot.
  bool give_back(std::uint32_t slot, std::uint32_t consumer, bool refused = false);
  /// Whether a consumer has refused the tensor that was last sent in the slot, that is, has returned it unused.
  bool was_refused(std::uint32_t slot) const { return refused_[slot] != 0; }
  /// The lowest number of a consumer that holds the first slot that is not free. std::nullopt if all slots are free.
  std::optional<std::uint32_t> holder() const;

 private:
  bool is_held(std::uint32_t slot, std::uint32_t consumer) const { return held_[at(slot, consumer)] != 0; }
  std::size_t at(std::uint32_t slot, std::uint32_t consumer) const {
    return static_cast<std::size_t>(slot) * consumers_ + consumer;
  }

  std::uint32_t consumers_;
  std::vector<std::uint32_t> outstanding_;  // by slot: number of consumers that hold it
  std::vector<std::uint8_t> held_;          // by slot and consumer: 1 if the consumer holds the slot
  std::vector<std::uint8_t> refused_;       // by slot: 1 if a consumer has refused the tensor last sent in it
  std::vector<std::uint32_t> free_;         // the free slots, longest free first
};

}  // namespace troupe
