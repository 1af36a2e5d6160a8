#include "troupe/ops/cpu/broadcast.hpp"

#include <algorithm>

namespace troupe::cpu {

Broadcast::Broadcast(const Shape& output, const Shape& a, const Shape& b) {
  std::int64_t a_stride = 1, b_stride = 1;
  for (std::size_t i = 0; i < output.rank(); ++i) {
    const auto size = output.back(i);
    const auto a_size = i < a.rank() ? a.back(i) : 1;
    const auto b_size = i < b.rank() ? b.back(i) : 1;
    const Axis axis{size, a_size == 1 ? 0 : a_stride, b_size == 1 ? 0 : b_stride};
    a_stride *= a_size;
    b_stride *= b_size;
    if (size == 1) continue;
    const auto* inner = axes_.empty() ? nullptr : &axes_.back();
    const bool alike = inner != nullptr && axis.a_stride == inner->a_stride * inner->size &&
                       axis.b_stride == inner->b_stride * inner->size;
    if (alike)
      axes_.back().size *= size;
    else
      axes_.push_back(axis);
  }
  if (axes_.empty()) axes_.push_back({1, 1, 1});
  std::reverse(axes_.begin(), axes_.end());
  for (std::size_t i = 0; i + 1 < axes_.size(); ++i) runs_ *= axes_[i].size;
}

}  // namespace troupe::cpu
