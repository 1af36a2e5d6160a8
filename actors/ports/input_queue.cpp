#include "troupe/actors/ports/input_queue.hpp"

#include <utility>

#include "troupe/ops/core/error.hpp"

namespace troupe {

void InputQueue::push(Arrival&& arrival) {
  if (count_ == ring_.size())
    throw Error("credit", "more tensors were sent than the " + std::to_string(ring_.size()) + " slots of the edge");
  ring_[at(count_++)] = std::move(arrival);
}

Arrival InputQueue::pop() {
  auto arrival = std::move(ring_[head_]);
  head_ = at(1);
  --count_;
  return arrival;
}

}  // namespace troupe
