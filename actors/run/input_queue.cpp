#include "troupe/actors/run/input_queue.hpp"

#include <utility>

#include "troupe/ops/core/error.hpp"

namespace troupe {

void InputQueue::push(Arrival&& arrival) {
  if (count_ == ring_.size())
    throw Error("credit", "more tensors were sent than the " + std::to_string(ring_.size()) + " slots of the edge");
  auto i = count_++;
  ring_[at(i)] = std::move(arrival);
  // A token that was taken in a step that other consumers did not have is sent again; it goes before those of later
  // steps.
  const auto is_before = [](const Arrival& a, const Arrival& b) {
    return a.run != b.run ? a.run < b.run : a.step < b.step;
  };
  for (; i > 0 && is_before(ring_[at(i)], ring_[at(i - 1)]); --i) std::swap(ring_[at(i - 1)], ring_[at(i)]);
}

Arrival InputQueue::pop() {
  auto arrival = std::move(ring_[head_]);
  head_ = at(1);
  --count_;
  return arrival;
}

}  // namespace troupe
