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

  /// Takes the slot that has been free for longest, to be filled for all consumers: so the last ones sent are in slots
  /// of their own.
  std::uint32_t take();
  /// Takes that slot for all consumers. Throws Error if it is not free.
  void take(std::uint32_t slot);
  /// One consumer is done with a slot. True if it was the last, so that the slot is free now. Throws Error if that
  /// consumer did not hold it.
  bool give_back(std::uint32_t slot, std::uint32_t consumer, bool refused = false);
  /// Whether a consumer has returned what the slot carried last without having used it.
  bool was_refused(std::uint32_t slot) const { return refused_[slot] != 0; }
  /// The first consumer that holds a slot, if one does.
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
