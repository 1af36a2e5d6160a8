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
  std::uint32_t capacity() const { return static_cast<std::uint32_t>(slots_.size()); }
  std::uint32_t consumers() const { return consumers_; }

  /// Takes a free slot, to be filled for all consumers.
  std::uint32_t take();
  /// Takes that slot, which must be free or be held by other consumers only, for one consumer.
  void take(std::uint32_t slot, std::uint32_t consumer);
  bool is_held(std::uint32_t slot, std::uint32_t consumer) const { return slots_[slot].held_by[consumer]; }
  /// One consumer is done with a slot. True if it was the last, so that the slot is free now. Throws Error if that
  /// consumer did not hold it.
  bool give_back(std::uint32_t slot, std::uint32_t consumer);
  /// The first consumer that holds a slot, if one does.
  std::optional<std::uint32_t> holder() const;

 private:
  struct Slot {
    std::uint32_t outstanding = 0;
    std::vector<bool> held_by;
  };
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::uint32_t consumers_;
};

}  // namespace troupe
