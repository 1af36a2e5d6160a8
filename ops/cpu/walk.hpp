#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cpu {

/// Iterates over the elements of up to three arrays at the same time. A run is a sequence of elements along which every
/// array advances by a fixed step. Neighboring axes are merged into one if the elements along both are equally spaced
/// in every array, so that runs are as long as possible.
class Walk {
 public:
  static constexpr std::size_t kMaxArrays = 3;
  /// One number for each array.
  using Numbers = std::array<std::int64_t, kMaxArrays>;
  /// The number of elements along an axis, and for each array the distance from one element to the next along the axis,
  /// in units that the caller chooses, such as bytes.
  struct Axis {
    std::int64_t size;
    Numbers strides;
  };

  /// The first axis is the innermost. Without axes there is one run of one element.
  explicit Walk(std::span<const Axis> axes = {});
  /// Walks over the output of a call. The arrays are the inputs, broadcast to the output. Along a run the step of an
  /// input is 1, or 0 if the input is repeated.
  explicit Walk(const OpCall& call);

  std::int64_t runs() const { return runs_; }
  /// The number of elements of a run, and the step of each array along a run.
  std::int64_t run_length() const { return axes_.front().size; }
  const Numbers& steps() const { return axes_.front().strides; }

  /// Calls visit(n, offsets) at the beginning of every run, in order. n is the number of elements before the run, and
  /// offsets[i] the offset of the run in array i.
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
