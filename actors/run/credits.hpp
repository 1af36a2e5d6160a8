#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "troupe/actors/run/failure.hpp"
#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// A tensor that has arrived at an input and waits to be used.
struct Arrival {
  std::uint32_t slot = 0;
  Tensor tensor;
  FailurePtr failure;
};

/// The full slots of one input, oldest first. Never more than the capacity of its edge.
class InputQueue {
 public:
  explicit InputQueue(std::uint32_t capacity) : ring_(capacity) {}

  bool empty() const { return count_ == 0; }
  /// Throws Error if the producer sent more than the edge has slots.
  void push(Arrival arrival);
  Arrival pop();

 private:
  std::vector<Arrival> ring_;
  std::uint32_t head_ = 0;
  std::uint32_t count_ = 0;
};

/// The slots of one output. A slot is free, or full until every consumer has returned it.
class OutputSlots {
 public:
  OutputSlots(std::uint32_t capacity, std::uint32_t consumers);

  bool has_free() const { return !free_.empty(); }
  std::uint32_t free_count() const { return static_cast<std::uint32_t>(free_.size()); }
  std::uint32_t capacity() const { return static_cast<std::uint32_t>(slots_.size()); }

  /// Takes a free slot, to be filled.
  std::uint32_t take();
  /// One consumer is done with a slot. True if it was the last, so that the slot is free now. Throws Error if that
  /// consumer did not hold it.
  bool give_back(std::uint32_t slot, std::uint32_t consumer);
  /// The first consumer that holds a slot, and -1 if none does.
  int holder() const;

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
