#include "troupe/actors/run/output_slots.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"

namespace troupe {

OutputSlots::OutputSlots(std::uint32_t capacity, std::uint32_t consumers) : slots_(capacity), consumers_(consumers) {
  for (auto slot = capacity; slot-- > 0;) {
    slots_[slot].held_by.assign(consumers, false);
    free_.push_back(slot);
  }
}

std::uint32_t OutputSlots::take() {
  const auto slot = free_.back();
  if (consumers_ == 0) return slot;
  free_.pop_back();
  slots_[slot].outstanding = consumers_;
  slots_[slot].held_by.assign(consumers_, true);
  return slot;
}

void OutputSlots::take(std::uint32_t slot, std::uint32_t consumer) {
  if (slots_[slot].outstanding++ == 0) std::erase(free_, slot);
  slots_[slot].held_by[consumer] = true;
}

bool OutputSlots::give_back(std::uint32_t slot, std::uint32_t consumer) {
  if (slot >= slots_.size() || consumer >= consumers_ || !slots_[slot].held_by[consumer])
    throw Error("credit", "consumer " + std::to_string(consumer) + " returned slot " + std::to_string(slot) +
                              ", which it did not hold");
  slots_[slot].held_by[consumer] = false;
  if (--slots_[slot].outstanding > 0) return false;
  free_.push_back(slot);
  return true;
}

std::optional<std::uint32_t> OutputSlots::holder() const {
  for (const auto& slot : slots_)
    for (std::uint32_t consumer = 0; consumer < consumers_; ++consumer)
      if (slot.held_by[consumer]) return consumer;
  return std::nullopt;
}

}  // namespace troupe
