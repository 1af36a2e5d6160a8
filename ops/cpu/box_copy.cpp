#include "troupe/ops/cpu/box_copy.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::cpu {

BoxCopy::BoxCopy(const Corner& from, const Corner& to, const Shape& sizes, std::size_t element_bytes)
    : run_bytes_(element_bytes) {
  auto from_stride = element_bytes, to_stride = element_bytes;
  bool in_run = true;
  for (std::size_t axis = sizes.rank(); axis-- > 0;) {
    from_offset_ += static_cast<std::size_t>(from.begin[axis]) * from_stride;
    to_offset_ += static_cast<std::size_t>(to.begin[axis]) * to_stride;
    if (in_run)
      run_bytes_ *= static_cast<std::size_t>(sizes[axis]);
    else
      axes_.push_back({sizes[axis], from_stride, to_stride});
    // A run ends with the first axis, from the innermost, along which the box does not cover both arrays.
    in_run = in_run && sizes[axis] == from.shape[axis] && sizes[axis] == to.shape[axis];
    from_stride *= static_cast<std::size_t>(from.shape[axis]);
    to_stride *= static_cast<std::size_t>(to.shape[axis]);
  }
  std::reverse(axes_.begin(), axes_.end());
  if (sizes.elements() == 0) run_bytes_ = 0;
}

void BoxCopy::operator()(const std::byte* from, std::byte* to) const {
  if (run_bytes_ > 0) copy(from + from_offset_, to + to_offset_, 0);
}

void BoxCopy::copy(const std::byte* from, std::byte* to, std::size_t axis) const {
  if (axis == axes_.size()) {
    std::memcpy(to, from, run_bytes_);
    return;
  }
  const auto& [size, from_stride, to_stride] = axes_[axis];
  for (std::int64_t i = 0; i < size; ++i, from += from_stride, to += to_stride) copy(from, to, axis + 1);
}

}  // namespace troupe::cpu
