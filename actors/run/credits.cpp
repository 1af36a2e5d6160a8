#include "troupe/actors/run/credits.hpp"

#include <utility>

#include "troupe/ops/core/error.hpp"

namespace troupe {

void InputQueue::push(Arrival arrival) {
  const auto capacity = static_cast<std::uint32_t>(ring_.size());
  if (count_ == capacity)
    throw Error("credit", "more tensors were sent than the " + std::to_string(capacity) + " slots of the edge");
  auto at = head_ + count_++;
  if (at >= capacity) at -= capacity;
  ring_[at] = std::move(arrival);
}

Arrival InputQueue::pop() {
  auto arrival = std::move(ring_[head_]);
  if (++head_ == ring_.size()) head_ = 0;
  --count_;
  return arrival;
}

OutputSlots::OutputSlots(std::uint32_t capacity, std::uint32_t consumers) : slots_(capacity), consumers_(consumers) {
  for (auto slot = capacity; slot-- > 0;) {
    slots_[slot].held_by.assign(consumers, false);
    free_.push_back(slot);
  }
}

std::uint32_t OutputSlots::take() {
  const auto slot = free_.back();
  free_.pop_back();
  slots_[slot].outstanding = consumers_;
  slots_[slot].held_by.assign(consumers_, true);
  return slot;
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

int OutputSlots::holder() const {
  for (const auto& slot : slots_)
    for (std::uint32_t consumer = 0; consumer < consumers_; ++consumer)
      if (slot.held_by[consumer]) return static_cast<int>(consumer);
  return -1;
}

}  // namespace troupe
