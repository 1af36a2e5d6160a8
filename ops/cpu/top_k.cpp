#include <algorithm>
#include <numeric>

#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"

namespace troupe::cpu {

namespace {

/// True if a is larger than b. A NaN is larger than every number, and no NaN is larger than another.
bool is_larger(float a, float b) {
  return a > b || (a != a && b == b);
}

/// The size of one axis of a row-major array, the product `outer` of the sizes of all axes before it, and the product
/// `inner` of those after it.
struct AxisOf {
  std::int64_t outer = 1, size, inner = 1;

  AxisOf(const Shape& shape, std::int64_t axis) : size(shape[static_cast<std::size_t>(axis)]) {
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      if (static_cast<std::int64_t>(i) < axis) outer *= shape[i];
      if (static_cast<std::int64_t>(i) > axis) inner *= shape[i];
    }
  }
};

}  // namespace

std::unique_ptr<Kernel> make_argmax(const OpCall& call) {
  return function_kernel([a = AxisOf(call.inputs[0].shape, call.attributes.integer("axis"))](Inputs in, Outputs out) {
    auto* result = reinterpret_cast<std::int32_t*>(out[0].address());
    for (std::int64_t o = 0; o < a.outer; ++o)
      for (std::int64_t j = 0; j < a.inner; ++j) {
        const auto* x = floats(in[0]) + o * a.size * a.inner + j;
        std::int64_t best = 0;
        for (std::int64_t i = 1; i < a.size; ++i)
          if (is_larger(x[i * a.inner], x[best * a.inner])) best = i;
        *result++ = static_cast<std::int32_t>(best);
      }
  });
}

std::unique_ptr<Kernel> make_top_k(const OpCall& call) {
  const auto size = call.inputs[0].shape.back(0), k = call.attributes.integer("k");
  return function_kernel(
      [size, k, places = std::vector<std::int32_t>(static_cast<std::size_t>(size))](Inputs in, Outputs out) mutable {
        auto* indices = reinterpret_cast<std::int32_t*>(out[1].address());
        auto* values = mutable_floats(out[0]);
        const auto* end = floats(in[0]) + in[0].elements();
        for (const auto* x = floats(in[0]); x != end; x += size, indices += k, values += k) {
          std::iota(places.begin(), places.end(), 0);
          std::partial_sort(places.begin(), places.begin() + k, places.end(), [x](std::int32_t a, std::int32_t b) {
            return is_larger(x[a], x[b]) || (!is_larger(x[b], x[a]) && a < b);
          });
          for (std::int64_t i = 0; i < k; ++i) {
            indices[i] = places[static_cast<std::size_t>(i)];
            values[i] = x[indices[i]];
          }
        }
      });
}

std::unique_ptr<Kernel> make_top_k_grad(const OpCall& call) {
  const auto size = call.attributes.integer("size"), k = call.inputs[0].shape.back(0);
  return function_kernel([size, k](Inputs in, Outputs out) {
    const auto* places = reinterpret_cast<const std::int32_t*>(in[1].address());
    std::ranges::fill(out[0].mutable_data<float>(), 0.0F);
    for (std::int64_t i = 0; i < in[0].elements(); ++i)
      mutable_floats(out[0])[i / k * size + places[i]] = floats(in[0])[i];
  });
}

std::unique_ptr<Kernel> make_cumulative_sum(const OpCall& call) {
  const AxisOf axis(call.inputs[0].shape, call.attributes.integer("axis"));
  return function_kernel([a = axis, from_end = call.attributes.flag("from_end")](Inputs in, Outputs out) {
    const auto step = from_end ? -a.inner : a.inner;
    for (std::int64_t o = 0; o < a.outer; ++o) {
      const auto first = o * a.size * a.inner + (from_end ? (a.size - 1) * a.inner : 0);
      for (std::int64_t j = 0; j < a.inner; ++j) {
        const auto* x = floats(in[0]) + first + j;
        auto* y = mutable_floats(out[0]) + first + j;
        // In double precision, since a long sum in float32 stops growing.
        double sum = 0.0;
        for (std::int64_t i = 0; i < a.size; ++i) y[i * step] = static_cast<float>(sum += x[i * step]);
      }
    }
  });
}

}  // namespace troupe::cpu
