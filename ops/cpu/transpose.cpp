#include <cstring>

#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/walk.hpp"

namespace troupe::cpu {

namespace {

/// A Walk over the elements of the result. The only array of the Walk is the input.
Walk transposed(const OpCall& call) {
  const auto& from = call.inputs[0].shape;
  const auto& order = call.attributes.list("order");
  std::vector<std::int64_t> strides(from.rank(), 1);
  for (std::size_t axis = from.rank(); axis-- > 1;) strides[axis - 1] = strides[axis] * from[axis];
  std::vector<Walk::Axis> axes;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(order[i]);
    if (from[axis] != 1) axes.push_back({from[axis], {strides[axis]}});
  }
  return Walk(axes);
}

template <class T>
std::unique_ptr<Kernel> make_copy(const OpCall& call) {
  return function_kernel([walk = transposed(call)](Inputs in, Outputs out) {
    const auto length = walk.run_length(), step = walk.steps()[0];
    walk.for_each_run([&](std::int64_t at, const Walk::Numbers& offset) {
      const auto* from = elements<T>(in[0]) + offset[0];
      auto* to = elements<T>(out[0]) + at;
      if (step == 1)
        std::memcpy(to, from, static_cast<std::size_t>(length) * sizeof(T));
      else
        for (std::int64_t i = 0; i < length; ++i) to[i] = from[i * step];
    });
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
