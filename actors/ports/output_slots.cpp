#include "troupe/actors/ports/output_slots.hpp"

#include <algorithm>
#include <numeric>

#include "troupe/ops/core/error.hpp"

namespace troupe {

OutputSlots::OutputSlots(std::uint32_t capacity, std::uint32_t consumers)
    : consumers_(consumers),
      outstanding_(capacity, 0),
      held_(std::size_t{capacity} * consumers, 0),
      refused_(capacity, 0),
      free_(capacity) {
  std::iota(free_.begin(), free_.end(), 0);
}

std::uint32_t OutputSlots::take() {
  if (free_.empty()) throw Error("credit", "there is no free slot");
  const auto slot = free_.front();
  take(slot);
  return slot;
}

void OutputSlots::take(std::uint32_t slot) {
  const auto free = std::ranges::find(free_, slot);
  if (free == free_.end()) throw Error("credit", "slot " + std::to_string(slot) + " is not free");
  if (consumers_ == 0) return;
  free_.erase(free);
  outstanding_[slot] = consumers_;
  refused_[slot] = 0;
  std::fill_n(held_.begin() + static_cast<std::ptrdiff_t>(at(slot, 0)), consumers_, std::uint8_t{1});
}

bool OutputSlots::give_back(std::uint32_t slot, std::uint32_t consumer, bool refused) {
  if (slot >= capacity() || consumer >= consumers_ || !is_held(slot, consumer))
    throw Error("credit", "consumer " + std::to_string(consumer) + " returned slot " + std::to_string(slot) +
                              ", which it did not hold");
  held_[at(slot, consumer)] = 0;
  if (refused) refused_[slot] = 1;
  if (--outstanding_[slot] > 0) return false;
  free_.push_back(slot);
  return true;
}

std::optional<std::uint32_t> OutputSlots::holder() const {
  for (std::uint32_t slot = 0; slot < capacity(); ++slot)
    for (std::uint32_t consumer = 0; consumer < consumers_; ++consumer)
      if (is_held(slot, consumer)) return consumer;
  return std::nullopt;
}

}  // namespace troupe
