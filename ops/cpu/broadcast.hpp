#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "troupe/ops/core/shape.hpp"

namespace troupe::cpu {

/// Walks two operands that are stretched to one output shape: runs of elements along which each operand either advances
/// by one or stays. Neighbouring axes that behave alike are merged, so that runs are as long as they can be.
class Broadcast {
 public:
  Broadcast(const Shape& output, const Shape& a, const Shape& b);

  /// Length of a run, and 1 or 0 for each operand along it.
  std::int64_t run_length() const { return axes_.back().size; }
  std::int64_t a_step() const { return axes_.back().a_stride; }
  std::int64_t b_step() const { return axes_.back().b_stride; }

  /// Calls visit(output offset, a offset, b offset) for the beginning of every run, in order.
  template <class Visit>
  void for_each_run(Visit visit) const {
    std::array<std::int64_t, Shape::kMaxRank + 1> index{};
    std::int64_t a = 0, b = 0;
    for (std::int64_t run = 0; run < runs_; ++run) {
      visit(run * run_length(), a, b);
      for (std::size_t axis = axes_.size() - 1; axis-- > 0;) {
        a += axes_[axis].a_stride;
        b += axes_[axis].b_stride;
        if (++index[axis] < axes_[axis].size) break;
        a -= axes_[axis].a_stride * index[axis];
        b -= axes_[axis].b_stride * index[axis];
        index[axis] = 0;
      }
    }
  }

 private:
  struct Axis {
    std::int64_t size, a_stride, b_stride;
  };
  std::vector<Axis> axes_;
  std::int64_t runs_ = 1;
};

}  // namespace troupe::cpu
