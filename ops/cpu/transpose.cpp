#include <algorithm>
#include <cstring>

#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"

namespace troupe::cpu {

namespace {

/// The axes of the result, each with the stride of its elements in the input. Neighboring axes that advance alike are
/// merged.
struct Walk {
  struct Axis {
    std::int64_t size, stride;
  };
  std::vector<Axis> axes;

  explicit Walk(const OpCall& call) {
    const auto& from = call.inputs[0].shape;
    const auto& order = call.attributes.list("order");
    std::vector<std::int64_t> strides(from.rank(), 1);
    for (std::size_t axis = from.rank(); axis-- > 1;) strides[axis - 1] = strides[axis] * from[axis];
    for (const auto axis : order) {
      const Axis next{from[static_cast<std::size_t>(axis)], strides[static_cast<std::size_t>(axis)]};
      if (next.size == 1) continue;
      if (!axes.empty() && axes.back().stride == next.stride * next.size)
        axes.back() = {axes.back().size * next.size, next.stride};
      else
        axes.push_back(next);
    }
    if (axes.empty()) axes.push_back({1, 1});
  }
};

template <class T>
void copy_axis(const Walk& walk, std::size_t axis, const T* from, T*& to) {
  const auto [size, stride] = walk.axes[axis];
  if (axis + 1 < walk.axes.size()) {
    for (std::int64_t i = 0; i < size; ++i) copy_axis(walk, axis + 1, from + i * stride, to);
    return;
  }
  if (stride == 1)
    std::memcpy(to, from, static_cast<std::size_t>(size) * sizeof(T));
  else
    for (std::int64_t i = 0; i < size; ++i) to[i] = from[i * stride];
  to += size;
}

template <class T>
std::unique_ptr<Kernel> make_copy(const OpCall& call) {
  return function_kernel([walk = Walk(call)](Inputs in, Outputs out) {
    auto* to = reinterpret_cast<T*>(out[0].address());
    copy_axis(walk, 0, reinterpret_cast<const T*>(in[0].address()), to);
  });
}

}  // namespace

std::unique_ptr<Kernel> make_transpose(const OpCall& call) {
  switch (size_of(call.inputs[0].dtype)) {
    case 1:
      return make_copy<std::uint8_t>(call);
    case 2:
      return make_copy<std::uint16_t>(call);
    case 4:
      return make_copy<std::uint32_t>(call);
    default:
      return make_copy<std::uint64_t>(call);
  }
}

}  // namespace troupe::cpu
