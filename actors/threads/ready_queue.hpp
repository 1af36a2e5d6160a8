#pragma once

#include <cstdint>
#include <vector>

namespace troupe {

/// The queue of a SegmentActor, first in, first out: the numbers of those of its segments (groups of actors that fire
/// together) that can fire now, or can go on with a firing. A segment must be in the queue at most once. Only reserve()
/// allocates memory.
class ReadyQueue {
 public:
  /// Makes room for `capacity` segments, at least 1. The queue must be empty.
  void reserve(std::size_t capacity) { ring_.resize(capacity); }
  bool empty() const { return count_ == 0; }
  void push(std::uint32_t segment) {
    ring_[(first_ + count_) % ring_.size()] = segment;
    ++count_;
  }
  std::uint32_t pop() {
    const auto segment = ring_[first_];
    first_ = (first_ + 1) % ring_.size();
    --count_;
    return segment;
  }
  void clear() { count_ = 0; }

 private:
  std::vector<std::uint32_t> ring_;
  std::size_t first_ = 0, count_ = 0;
};

}  // namespace troupe
