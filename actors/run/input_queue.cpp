#include "troupe/actors/run/input_queue.hpp"

#include <utility>

#include "troupe/ops/core/error.hpp"

namespace troupe {

void InputQueue::push(Arrival arrival) {
  if (count_ == ring_.size())
    throw Error("credit", "more tensors were sent than the " + std::to_string(ring_.size()) + " slots of the edge");
  auto i = count_++;
  ring_[at(i)] = std::move(arrival);
  // A token that a consumer of a longer branch took too early is sent again, before those that followed it.
  for (; i > 0 && ring_[at(i - 1)].step > ring_[at(i)].step; --i) std::swap(ring_[at(i - 1)], ring_[at(i)]);
}

Arrival InputQueue::pop() {
  auto arrival = std::move(ring_[head_]);
  head_ = at(1);
  --count_;
  return arrival;
}

}  // namespace troupe
