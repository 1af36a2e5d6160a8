#include "troupe/ops/max_pool.hpp"

#include "troupe/ops/cuda/cuda_kernel.hpp"
#include "troupe/ops/cuda/elements.cuh"
#include "troupe/ops/cuda/kernels.hpp"
#include "troupe/ops/cuda/pooling.cuh"

namespace troupe::cuda {

namespace {

constexpr std::int32_t kNowhere = kNoPlace;

/// The largest element of a window, and its number in the window.
template <class T>
struct PoolWindow {
  Pooling p;
  bool relu;
  const T* x;
  T* y;
  std::uint8_t* places;

  __device__ void operator()(std::int64_t i) const {
    const auto [row, h, w, channel] = p.y.place(i);
    const auto rows = p.height.inside(h), columns = p.width.inside(w);
    const auto number_at = [&, top = p.height.start(h), left = p.width.start(w)](std::int64_t r, std::int64_t c) {
      return static_cast<std::int32_t>((r - top) * p.height.kernel_size + c - left);
    };
    float best = load(x, p.x.at(row, rows.begin, columns.begin, channel));
    auto place = number_at(rows.begin, columns.begin);
    for (auto r = rows.begin; r < rows.end; ++r)
      for (auto c = columns.begin; c < columns.end; ++c) {
        const float here = load(x, p.x.at(row, r, c, channel));
        // Larger, or the first NaN: a NaN compares as neither smaller nor equal, and nothing replaces it.
        if (here <= best || best != best) continue;
        best = here;
        place = number_at(r, c);
      }
    if (relu && !(best > 0.0F)) place = kNowhere;
    store(y, i, relu && best < 0.0F ? 0.0F : best);
    places[i] = static_cast<std::uint8_t>(place);
  }
};

/// What the windows of an element pass on to it, in their order.
template <class T>
struct UnpoolElement {
  Pooling p;
  const T* dy;
  const std::uint8_t* places;
  T* dx;

  __device__ void operator()(std::int64_t i) const {
    const auto [row, h, w, channel] = p.x.place(i);
    const auto rows = p.height.windows(h), columns = p.width.windows(w);
    float sum = 0.0F;
    for (auto r = rows.begin; r < rows.end; ++r)
      for (auto c = columns.begin; c < columns.end; ++c) {
        const auto window = p.y.at(row, r, c, channel);
        const auto number = (h - p.height.start(r)) * p.height.kernel_size + w - p.width.start(c);
        if (places[window] == number) sum += load(dy, window);
      }
    store(dx, i, sum);
  }
};

}  // namespace

std::unique_ptr<Kernel> make_max_pool(const OpCall& call) {
  const Pooling pooling(call.attributes, call.inputs[0].shape, call.outputs[0].shape);
  const bool relu = call.attributes.flag("relu");
  return with_float_type(call.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    return cuda_kernel(call, [pooling, relu](const Launch& where, Inputs in, Outputs out) {
      for_each(where, out[0].elements(),
               PoolWindow<T>{pooling, relu, data_of<T>(in[0]), mutable_data_of<T>(out[0]),
                             mutable_data_of<std::uint8_t>(out[1])});
    });
  });
}

std::unique_ptr<Kernel> make_max_pool_grad(const OpCall& call) {
  const Pooling pooling(call.attributes, call.outputs[0].shape, call.inputs[0].shape);
  return with_float_type(call.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    return cuda_kernel(call, [pooling](const Launch& where, Inputs in, Outputs out) {
      for_each(where, out[0].elements(),
               UnpoolElement<T>{pooling, data_of<T>(in[0]), data_of<std::uint8_t>(in[1]), mutable_data_of<T>(out[0])});
    });
  });
}

}  // namespace troupe::cuda
