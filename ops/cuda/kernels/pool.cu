#include "troupe/ops/library/pool.hpp"

#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/pooling.cuh"

namespace troupe::cuda {

namespace {

constexpr std::int32_t kNowhere = kNoPlace;

/// Computes the largest element of a window for each of kLanes neighboring channels, and the place of the element in
/// the window. With a fused relu, the place is kNowhere unless the element is above 0, so that no gradient passes.
template <class T, int kLanes>
struct PoolWindow {
  Pooling p;
  const Lanes<T, kLanes>* x;
  Lanes<T, kLanes>* y;
  Lanes<std::uint8_t, kLanes>* places;

  __device__ void operator()(std::int64_t i) const {
    const auto [row, h, w, channel] = p.y(i);
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
          // The element is skipped unless it is larger than the best one, or is the first NaN. A comparison with a NaN
          // is false, so the first condition does not skip a NaN, which becomes the best one. The second condition then
          // skips all elements after that NaN.
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
      largest.set(k, p.relu && best[k] < 0.0F ? 0.0F : best[k]);
      numbers.set(k, static_cast<std::uint8_t>(p.relu && !(best[k] > 0.0F) ? kNowhere : place[k]));
    }
    y[i] = largest;
    places[i] = numbers;
  }
};

/// Computes the gradient of kLanes neighboring channels of x: for each channel, the sum of dy over the windows of which
/// the element is the largest one by `places`, in the order of the windows.
template <class T, int kLanes>
struct UnpoolElement {
  Pooling p;
  const Lanes<T, kLanes>* dy;
  const Lanes<std::uint8_t, kLanes>* places;
  Lanes<T, kLanes>* dx;

  __device__ void operator()(std::int64_t i) const {
    const auto [row, h, w, channel] = p.x(i);
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

__device__ float elements_in(const Span& rows, const Span& columns) {
  return static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
}

/// Computes the mean of a window, without the padding, for each of kLanes neighboring channels.
template <class T, int kLanes>
struct AverageWindow {
  Pooling p;
  const Lanes<T, kLanes>* x;
  Lanes<T, kLanes>* y;

  __device__ void operator()(std::int64_t i) const {
    const auto [row, h, w, channel] = p.y(i);
    const auto rows = p.height.inside(h), columns = p.width.inside(w);
    float sum[kLanes] = {};
    for (auto r = rows.begin; r < rows.end; ++r)
      for (auto c = columns.begin; c < columns.end; ++c) {
        const auto here = x[p.x.at(row, r, c, channel)];
        for (int k = 0; k < kLanes; ++k) sum[k] += here.at(k);
      }
    Lanes<T, kLanes> mean;
    for (int k = 0; k < kLanes; ++k) mean.set(k, sum[k] / elements_in(rows, columns));
    y[i] = mean;
  }
};

/// Computes the gradient of kLanes neighboring channels of x for average pooling: the sum, over the windows that
/// contain the element, of dy divided by the number of the window's elements inside the image.
template <class T, int kLanes>
struct SpreadElement {
  Pooling p;
  const Lanes<T, kLanes>* dy;
  Lanes<T, kLanes>* dx;

  __device__ void operator()(std::int64_t i) const {
    const auto [row, h, w, channel] = p.x(i);
    const auto rows = p.height.windows(h), columns = p.width.windows(w);
    float sum[kLanes] = {};
    for (auto r = rows.begin; r < rows.end; ++r)
      for (auto c = columns.begin; c < columns.end; ++c) {
        const auto passed = dy[p.y.at(row, r, c, channel)];
        const auto count = elements_in(p.height.inside(r), p.width.inside(c));
        for (int k = 0; k < kLanes; ++k) sum[k] += passed.at(k) / count;
      }
    Lanes<T, kLanes> result;
    for (int k = 0; k < kLanes; ++k) result.set(k, sum[k]);
    dx[i] = result;
  }
};

template <template <class, int> class Element>
std::unique_ptr<Kernel> average_kernel(const OpCall& call, const Shape& images, const Shape& pooled) {
  return with_float_type(call.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    const PoolingByLanes<T> pooling(call.attributes, images, pooled);
    return cuda_kernel(call, [pooling](const Launch& where, Inputs in, Outputs out) {
      pooling.template run<Element>(where, out[0].elements(), data_of<T>(in[0]), mutable_data_of<T>(out[0]));
    });
  });
}

}  // namespace

std::unique_ptr<Kernel> make_max_pool(const OpCall& call) {
  return with_float_type(call.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    const PoolingByLanes<T> pooling(call.attributes, call.inputs[0].shape, call.outputs[0].shape);
    return cuda_kernel(call, [pooling](const Launch& where, Inputs in, Outputs out) {
      pooling.template run<PoolWindow>(where, out[0].elements(), data_of<T>(in[0]), mutable_data_of<T>(out[0]),
                                       mutable_data_of<std::uint8_t>(out[1]));
    });
  });
}

std::unique_ptr<Kernel> make_max_pool_grad(const OpCall& call) {
  return with_float_type(call.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    const PoolingByLanes<T> pooling(call.attributes, call.outputs[0].shape, call.inputs[0].shape);
    return cuda_kernel(call, [pooling](const Launch& where, Inputs in, Outputs out) {
      pooling.template run<UnpoolElement>(where, out[0].elements(), data_of<T>(in[0]), data_of<std::uint8_t>(in[1]),
                                          mutable_data_of<T>(out[0]));
    });
  });
}

std::unique_ptr<Kernel> make_average_pool(const OpCall& call) {
  return average_kernel<AverageWindow>(call, call.inputs[0].shape, call.outputs[0].shape);
}

std::unique_ptr<Kernel> make_average_pool_grad(const OpCall& call) {
  return average_kernel<SpreadElement>(call, call.outputs[0].shape, call.inputs[0].shape);
}

}  // namespace troupe::cuda
