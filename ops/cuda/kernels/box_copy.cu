#include "troupe/ops/cuda/kernels/box_copy.hpp"

#include <numeric>

namespace troupe::cuda {

namespace {

/// Copies one unit of the box.
template <class Unit>
struct CopyUnit {
  Walk<2> walk;
  const Unit* from;
  Unit* to;
  __device__ void operator()(std::int64_t i) const {
    std::int64_t at[2];
    walk.find(i, at);
    to[at[1]] = from[at[0]];
  }
};

}  // namespace

BoxCopy::BoxCopy(const Corner& from, const Corner& to, const Shape& sizes, std::size_t element_bytes)
    : empty_(sizes.elements() == 0) {
  const auto bytes = static_cast<std::int64_t>(element_bytes);
  auto from_stride = bytes, to_stride = bytes, run = bytes;
  bool in_run = true;
  for (std::size_t axis = sizes.rank(); axis-- > 0;) {
    from_offset_ += from.begin[axis] * from_stride;
    to_offset_ += to.begin[axis] * to_stride;
    if (in_run)
      run *= sizes[axis];
    else
      axes_.insert(axes_.begin(), {sizes[axis], {from_stride, to_stride}});
    // A run ends with the first axis, from the innermost, along which the box does not cover both arrays.
    in_run = in_run && sizes[axis] == from.shape[axis] && sizes[axis] == to.shape[axis];
    from_stride *= from.shape[axis];
    to_stride *= to.shape[axis];
  }
  axes_.push_back({run, {1, 1}});
}

template <class Unit>
void BoxCopy::copy(const Launch& where, const std::byte* from, std::byte* to) const {
  constexpr std::int64_t kBytes = sizeof(Unit);
  auto axes = axes_;
  for (auto& axis : axes)
    for (auto& stride : axis.strides) stride /= kBytes;
  axes.back() = {axes.back().size / kBytes, {1, 1}};
  const Walk<2> walk(axes);
  for_each(where, walk.elements(),
           CopyUnit<Unit>{walk, reinterpret_cast<const Unit*>(from), reinterpret_cast<Unit*>(to)});
}

void BoxCopy::operator()(const Launch& where, const std::byte* from, std::byte* to) const {
  if (empty_) return;
  from += from_offset_;
  to += to_offset_;
  // The widest unit that divides every run and every address.
  auto unit = std::gcd(reinterpret_cast<std::intptr_t>(from), reinterpret_cast<std::intptr_t>(to));
  unit = std::gcd(unit, static_cast<std::intptr_t>(axes_.back().size));
  for (std::size_t i = 0; i + 1 < axes_.size(); ++i)
    for (const auto stride : axes_[i].strides) unit = std::gcd(unit, static_cast<std::intptr_t>(stride));
  if (unit % 16 == 0) return copy<uint4>(where, from, to);
  if (unit % 8 == 0) return copy<std::uint64_t>(where, from, to);
  if (unit % 4 == 0) return copy<std::uint32_t>(where, from, to);
  if (unit % 2 == 0) return copy<std::uint16_t>(where, from, to);
  copy<std::uint8_t>(where, from, to);
}

}  // namespace troupe::cuda
