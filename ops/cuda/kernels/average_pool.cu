#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/pooling.cuh"

namespace troupe::cuda {

namespace {

__device__ float elements_in(const Span& rows, const Span& columns) {
  return static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
}

/// The mean of a window, without the padding.
template <class T, int kLanes>
struct AverageWindow {
  Pooling p;
  const Lanes<T, kLanes>* x;
  Lanes<T, kLanes>* y;

  __device__ void operator()(std::int64_t i) const {
    const auto [row, h, w, channel] = p.y.place(i);
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

/// The gradient of kLanes neighboring channels of x: the sum over the windows with the element.
template <class T, int kLanes>
struct SpreadElement {
  Pooling p;
  const Lanes<T, kLanes>* dy;
  Lanes<T, kLanes>* dx;

  __device__ void operator()(std::int64_t i) const {
    const auto [row, h, w, channel] = p.x.place(i);
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

template <template <class T, int kLanes> class Element>
std::unique_ptr<Kernel> pooling_kernel(const OpCall& call, const Shape& images, const Shape& pooled) {
  return with_float_type(call.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    const PoolingByLanes<kWidestLanes<T>> pooling(call.attributes, images, pooled);
    return cuda_kernel(call, [pooling](const Launch& where, Inputs in, Outputs out) {
      const auto* from = data_of<T>(in[0]);
      auto* to = mutable_data_of<T>(out[0]);
      const auto elements = out[0].elements();
      pooling.run(
          [&](auto lanes, const Pooling& p) {
            for_each(where, elements / lanes, Element<T, lanes>{p, lanes_of<T, lanes>(from), lanes_of<T, lanes>(to)});
          },
          from, to);
    });
  });
}

}  // namespace

std::unique_ptr<Kernel> make_average_pool(const OpCall& call) {
  return pooling_kernel<AverageWindow>(call, call.inputs[0].shape, call.outputs[0].shape);
}

std::unique_ptr<Kernel> make_average_pool_grad(const OpCall& call) {
  return pooling_kernel<SpreadElement>(call, call.outputs[0].shape, call.inputs[0].shape);
}

}  // namespace troupe::cuda
