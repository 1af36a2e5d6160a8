#include "troupe/ops/cpu/broadcast.hpp"

#include <algorithm>

namespace troupe::cpu {

namespace {

std::vector<Shape> shapes_of(std::span<const TensorInfo> infos) {
  std::vector<Shape> shapes;
  for (const auto& info : infos) shapes.push_back(info.shape);
  return shapes;
}

}  // namespace

Broadcast::Broadcast(const OpCall& call) : Broadcast(call.outputs[0].shape, shapes_of(call.inputs)) {}

Broadcast::Broadcast(const Shape& output, std::span<const Shape> operands) {
  Numbers elements;
  elements.fill(1);
  for (std::size_t i = 0; i < output.rank(); ++i) {
    Axis axis{output.back(i), {}};
    for (std::size_t operand = 0; operand < operands.size(); ++operand) {
      const auto& shape = operands[operand];
      const auto size = i < shape.rank() ? shape.back(i) : 1;
      axis.strides[operand] = size == 1 ? 0 : elements[operand];
      elements[operand] *= size;
    }
    if (axis.size == 1) continue;
    const auto* inner = axes_.empty() ? nullptr : &axes_.back();
    bool alike = inner != nullptr;
    for (std::size_t operand = 0; alike && operand < operands.size(); ++operand)
      alike = axis.strides[operand] == inner->strides[operand] * inner->size;
    if (alike)
      axes_.back().size *= axis.size;
    else
      axes_.push_back(axis);
  }
  if (axes_.empty()) axes_.push_back({1, {1, 1, 1}});
  std::reverse(axes_.begin(), axes_.end());
  for (std::size_t i = 0; i + 1 < axes_.size(); ++i) runs_ *= axes_[i].size;
}

}  // namespace troupe::cpu
