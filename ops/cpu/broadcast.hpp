#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cpu {

/// Iterates over operands that are broadcast to one output shape. A run is a sequence of elements along which each
/// operand either advances by one or stays. Neighboring axes that behave alike are merged, so that runs are as long as
/// possible.
class Broadcast {
 public:
  static constexpr std::size_t kMaxOperands = 3;
  /// A number for each operand.
  using Numbers = std::array<std::int64_t, kMaxOperands>;

  Broadcast(const Shape& output, std::span<const Shape> operands);
  /// Broadcasts the inputs of a call to its output.
  explicit Broadcast(const OpCall& call);

  /// The length of a run, and for each operand 1 if it advances along a run, else 0.
  std::int64_t run_length() const { return axes_.back().size; }
  const Numbers& steps() const { return axes_.back().strides; }

  /// Calls visit(output offset, offsets of the operands) for the beginning of every run, in order.
  template <class Visit>
  void for_each_run(Visit visit) const {
    std::array<std::int64_t, Shape::kMaxRank + 1> index{};
    Numbers at{};
    for (std::int64_t run = 0; run < runs_; ++run) {
      visit(run * run_length(), at);
      for (std::size_t axis = axes_.size() - 1; axis-- > 0;) {
        const auto& strides = axes_[axis].strides;
        for (std::size_t i = 0; i < kMaxOperands; ++i) at[i] += strides[i];
        if (++index[axis] < axes_[axis].size) break;
        for (std::size_t i = 0; i < kMaxOperands; ++i) at[i] -= strides[i] * index[axis];
        index[axis] = 0;
      }
    }
  }

 private:
  struct Axis {
    std::int64_t size;
    Numbers strides;
  };
  std::vector<Axis> axes_;
  std::int64_t runs_ = 1;
};

}  // namespace troupe::cpu
