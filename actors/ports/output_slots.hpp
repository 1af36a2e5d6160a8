#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

/// The slots of one output. A slot is free, or full until every consumer has returned it; without consumers it is
/// always free.
class OutputSlots {
 public:
  OutputSlots(std::uint32_t capacity, std::uint32_t consumers);

  bool has_free() const { return !free_.empty(); }
  std::uint32_t free_count() const { return static_cast<std::uint32_t>(free_.size()); }
  std::uint32_t capacity() const { return static_cast<std::uint32_t>(outstanding_.size()); }
  std::uint32_t consumers() const { return consumers_; }

  /// Takes the slot that has been free for longest, for all consumers. The tensors sent last therefore lie in different
  /// slots. Throws Error if no slot is free.
  std::uint32_t take();
  /// Takes this slot for all consumers. Throws Error if it is not free.
  void take(std::uint32_t slot);
  /// Returns a slot for one consumer. True if the slot is free now because this consumer was the last. Throws Error if
  /// the consumer did not hold the slot.
  bool give_back(std::uint32_t slot, std::uint32_t consumer, bool refused = false);
  /// Whether a consumer has returned the last tensor of the slot unused.
  bool was_refused(std::uint32_t slot) const { return refused_[slot] != 0; }
  /// The first consumer that holds a slot; empty if all slots are free.
  std::optional<std::uint32_t> holder() const;

 private:
  bool is_held(std::uint32_t slot, std::uint32_t consumer) const { return held_[at(slot, consumer)] != 0; }
  std::size_t at(std::uint32_t slot, std::uint32_t consumer) const {
    return static_cast<std::size_t>(slot) * consumers_ + consumer;
  }

  std::uint32_t consumers_;
  std::vector<std::uint32_t> outstanding_;  // by slot: consumers that hold it
  std::vector<std::uint8_t> held_;          // by slot and consumer
  std::vector<std::uint8_t> refused_;       // by slot
  std::vector<std::uint32_t> free_;         // longest free first
};

}  // namespace troupe
