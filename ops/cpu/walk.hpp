#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cpu {

/// Iterates over the elements of up to three arrays in step. A run is a sequence of elements along which every array
/// advances by a fixed step. Neighboring axes that behave alike are merged, so that runs are as long as possible.
class Walk {
 public:
  static constexpr std::size_t kMaxArrays = 3;
  /// A number for each array.
  using Numbers = std::array<std::int64_t, kMaxArrays>;
  /// The number of elements along an axis, and for each array the distance from one of them to the next.
  struct Axis {
    std::int64_t size;
    Numbers strides;
  };

  /// The first axis is the innermost. Without axes there is one run of one element.
  explicit Walk(std::span<const Axis> axes = {});
  /// The arrays are the inputs of a call, broadcast to its output. The steps are 0 or 1.
  explicit Walk(const OpCall& call);

  /// The length of a run, and the step of each array along a run.
  std::int64_t run_length() const { return axes_.front().size; }
  const Numbers& steps() const { return axes_.front().strides; }

  /// Calls visit(number of elements before the run, offsets in the arrays) for the beginning of every run, in order.
  template <class Visit>
  void for_each_run(Visit visit) const {
    std::array<std::int64_t, Shape::kMaxRank + 1> index{};
    Numbers at{};
    for (std::int64_t run = 0; run < runs_; ++run) {
      visit(run * run_length(), at);
      for (std::size_t axis = 1; axis < axes_.size(); ++axis) {
        const auto& strides = axes_[axis].strides;
        for (std::size_t i = 0; i < kMaxArrays; ++i) at[i] += strides[i];
        if (++index[axis] < axes_[axis].size) break;
        for (std::size_t i = 0; i < kMaxArrays; ++i) at[i] -= strides[i] * index[axis];
        index[axis] = 0;
      }
    }
  }

 private:
  std::vector<Axis> axes_;  // innermost first
  std::int64_t runs_ = 1;
};

}  // namespace troupe::cpu
