#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/stream.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/transport/failure.hpp"

namespace troupe {

struct CollectiveStart;

/// A tensor that has arrived at an input of an actor, or the failure that its producer has sent in place of the tensor.
struct Arrival {
  std::uint32_t slot = 0;
  std::uint64_t run = 0;
  std::int64_t step = 0;
  Tensor tensor;
  FailurePtr failure;
  /// The tensor holds its elements once this event is done. An actor on a device makes its stream wait for the event.
  /// For an actor on the host the event is done on arrival.
  Event ready = {};
  /// The collective that the producer has begun, if the producer is a conductor: an actor that begins collectives for
  /// the ranks of its process. Null if the producer is another actor, or if the collective could not begin.
  std::shared_ptr<CollectiveStart> start = {};
};

/// The tensors and failures that have arrived at one input and that the actor has not taken yet, oldest first. Each
/// fills a slot of the edge that ends at the input, so their number never exceeds the capacity of the edge.
class InputQueue {
 public:
  explicit InputQueue(std::uint32_t capacity) : ring_(capacity) {}

  bool empty() const { return count_ == 0; }
  std::uint32_t size() const { return count_; }
  const Arrival& front() const { return ring_[head_]; }
  /// Throws Error if the queue is full: the producer has then sent more tensors than the edge has slots.
  void push(Arrival&& arrival) {
    if (count_ == ring_.size())
      throw Error("credit", "more tensors were sent than the " + std::to_string(ring_.size()) + " slots of the edge");
    ring_[at(count_++)] = std::move(arrival);
  }
  Arrival pop() {
    auto arrival = std::move(ring_[head_]);
    head_ = at(1);
    --count_;
    return arrival;
  }

 private:
  std::uint32_t at(std::uint32_t i) const {
    const auto index = head_ + i, capacity = static_cast<std::uint32_t>(ring_.size());
    return index >= capacity ? index - capacity : index;
  }

  std::vector<Arrival> ring_;
  std::uint32_t head_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace troupe
