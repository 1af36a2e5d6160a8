#include "troupe/ops/cpu/walk.hpp"

namespace troupe::cpu {

namespace {

/// True if `outer` and `inner` can be merged into one axis: in every array, one step along `outer` is as far as
/// `inner.size` steps along `inner`. `inner` must be the axis next to `outer`.
bool continues(const Walk::Axis& outer, const Walk::Axis& inner) {
  for (std::size_t i = 0; i < Walk::kMaxArrays; ++i)
    if (outer.strides[i] != inner.strides[i] * inner.size) return false;
  return true;
}

/// The axes of the output of a call, innermost first, without axes of size 1. The stride of an input is 0 along axes
/// along which the input is repeated.
std::vector<Walk::Axis> broadcast_axes(const OpCall& call) {
  const auto& output = call.outputs[0].shape;
  std::vector<Walk::Axis> axes;
  Walk::Numbers elements{1, 1, 1};
  for (std::size_t i = 0; i < output.rank(); ++i) {
    Walk::Axis axis{output.back(i), {}};
    for (std::size_t input = 0; input < call.inputs.size(); ++input) {
      const auto& shape = call.inputs[input].shape;
      const auto size = i < shape.rank() ? shape.back(i) : 1;
      axis.strides[input] = size == 1 ? 0 : elements[input];
      elements[input] *= size;
    }
    if (axis.size != 1) axes.push_back(axis);
  }
  return axes;
}

}  // namespace

Walk::Walk(std::span<const Axis> axes) {
  for (const auto& axis : axes) {
    if (!axes_.empty() && continues(axis, axes_.back()))
      axes_.back().size *= axis.size;
    else
      axes_.push_back(axis);
  }
  if (axes_.empty()) axes_.push_back({1, {1, 1, 1}});
  for (std::size_t i = 1; i < axes_.size(); ++i) runs_ *= axes_[i].size;
}

Walk::Walk(const OpCall& call) : Walk(broadcast_axes(call)) {}

}  // namespace troupe::cpu
