#include "troupe/ops/library/pool.hpp"

#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/pooling.cuh"

namespace troupe::cuda {

namespace {

constexpr std::int32_t kNowhere = kNoPlace;

/// The largest elements of a window, and their indices in the window.
template <class T, int kLanes>
struct PoolWindow {
  Pooling p;
  bool relu;
  const Lanes<T, kLanes>* x;
  Lanes<T, kLanes>* y;
  Lanes<std::uint8_t, kLanes>* places;

  __device__ void operator()(std::int64_t i) const {
    const auto [row, h, w, channel] = p.y.place(i);
    const auto rows = p.height.inside(h), columns = p.width.inside(w);
    const auto top = p.height.start(h), left = p.width.start(w);
    const auto first = x[p.x.at(row, rows.begin, columns.begin, channel)];
    float best[kLanes];
    std::int32_t place[kLanes];
    for (int k = 0; k < kLanes; ++k) {
      best[k] = first.at(k);
      place[k] = number_of(rows.begin - top, columns.begin - left);
    }
    for (auto r = rows.begin; r < rows.end; ++r)
      for (auto c = columns.begin; c < columns.end; ++c) {
        const auto here = x[p.x.at(row, r, c, channel)];
        for (int k = 0; k < kLanes; ++k) {
          // The element is skipped unless it is larger, or is the first NaN. A NaN compares neither smaller nor equal,
          // so nothing replaces it.
          if (here.at(k) <= best[k] || best[k] != best[k]) continue;
          best[k] = here.at(k);
          place[k] = number_of(r - top, c - left);
        }
      }
    finish(i, best, place);
  }

 private:
  __device__ std::int32_t number_of(std::int64_t row, std::int64_t column) const {
    return static_cast<std::int32_t>(row * p.height.kernel_size + column);
  }
  __device__ void finish(std::int64_t i, const float (&best)[kLanes], const std::int32_t (&place)[kLanes]) const {
    Lanes<T, kLanes> largest;
    Lanes<std::uint8_t, kLanes> numbers;
    for (int k = 0; k < kLanes; ++k) {
      largest.set(k, relu && best[k] < 0.0F ? 0.0F : best[k]);
      numbers.set(k, static_cast<std::uint8_t>(relu && !(best[k] > 0.0F) ? kNowhere : place[k]));
    }
    y[i] = largest;
    places[i] = numbers;
  }
};

/// The gradient of an element: the sum of the gradients of its windows, in their order.
template <class T, int kLanes>
struct UnpoolElement {
  Pooling p;
  const Lanes<T, kLanes>* dy;
  const Lanes<std::uint8_t, kLanes>* places;
  Lanes<T, kLanes>* dx;

  __device__ void operator()(std::int64_t i) const {
    const auto [row, h, w, channel] = p.x.place(i);
    const auto rows = p.height.windows(h), columns = p.width.windows(w);
    float sum[kLanes] = {};
    for (auto r = rows.begin; r < rows.end; ++r)
      for (auto c = columns.begin; c < columns.end; ++c) {
        const auto window = p.y.at(row, r, c, channel);
        const auto number = (h - p.height.start(r)) * p.height.kernel_size + w - p.width.start(c);
        const auto chosen = places[window];
        const auto passed = dy[window];
        for (int k = 0; k < kLanes; ++k)
          if (chosen.at(k) == number) sum[k] += passed.at(k);
      }
    Lanes<T, kLanes> result;
    for (int k = 0; k < kLanes; ++k) result.set(k, sum[k]);
    dx[i] = result;
  }
};

template <class T>
std::unique_ptr<Kernel> max_pool_kernel(const OpCall& call) {
  const PoolingByLanes<kWidestLanes<T>> pooling(call.attributes, call.inputs[0].shape, call.outputs[0].shape);
  const bool relu = call.attributes.flag("relu");
  return cuda_kernel(call, [pooling, relu](const Launch& where, Inputs in, Outputs out) {
    const auto* x = data_of<T>(in[0]);
    auto* y = mutable_data_of<T>(out[0]);
    auto* places = mutable_data_of<std::uint8_t>(out[1]);
    const auto elements = out[0].elements();
    pooling.run(
        [&](auto lanes, const Pooling& p) {
          for_each(where, elements / lanes,
                   PoolWindow<T, lanes>{p, relu, lanes_of<T, lanes>(x), lanes_of<T, lanes>(y),
                                        lanes_of<std::uint8_t, lanes>(places)});
        },
        x, y, places);
  });
}

template <class T>
std::unique_ptr<Kernel> max_pool_grad_kernel(const OpCall& call) {
  const PoolingByLanes<kWidestLanes<T>> pooling(call.attributes, call.outputs[0].shape, call.inputs[0].shape);
  return cuda_kernel(call, [pooling](const Launch& where, Inputs in, Outputs out) {
    const auto* dy = data_of<T>(in[0]);
    const auto* places = data_of<std::uint8_t>(in[1]);
    auto* dx = mutable_data_of<T>(out[0]);
    const auto elements = out[0].elements();
    pooling.run(
        [&](auto lanes, const Pooling& p) {
          for_each(where, elements / lanes,
                   UnpoolElement<T, lanes>{p, lanes_of<T, lanes>(dy), lanes_of<std::uint8_t, lanes>(places),
                                           lanes_of<T, lanes>(dx)});
        },
        dy, places, dx);
  });
}

}  // namespace

std::unique_ptr<Kernel> make_max_pool(const OpCall& call) {
  return with_float_type(call.inputs[0].dtype, [&](auto element) { return max_pool_kernel<decltype(element)>(call); });
}

std::unique_ptr<Kernel> make_max_pool_grad(const OpCall& call) {
  return with_float_type(call.inputs[0].dtype,
                         [&](auto element) { return max_pool_grad_kernel<decltype(element)>(call); });
}

}  // namespace troupe::cuda
