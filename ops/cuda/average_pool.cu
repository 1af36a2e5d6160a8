#include "troupe/ops/cuda/cuda_kernel.hpp"
#include "troupe/ops/cuda/elements.cuh"
#include "troupe/ops/cuda/kernels.hpp"
#include "troupe/ops/cuda/pooling.cuh"

namespace troupe::cuda {

namespace {

__device__ float elements_in(const Span& rows, const Span& columns) {
  return static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
}

/// The mean of a window, without the padding.
template <class T>
struct AverageWindow {
  Pooling p;
  const T* x;
  T* y;

  __device__ void operator()(std::int64_t i) const {
    const auto [row, h, w, channel] = p.y.place(i);
    const auto rows = p.height.inside(h), columns = p.width.inside(w);
    float sum = 0.0F;
    for (auto r = rows.begin; r < rows.end; ++r)
      for (auto c = columns.begin; c < columns.end; ++c) sum += load(x, p.x.at(row, r, c, channel));
    store(y, i, sum / elements_in(rows, columns));
  }
};

template <class T>
struct SpreadElement {
  Pooling p;
  const T* dy;
  T* dx;

  __device__ void operator()(std::int64_t i) const {
    const auto [row, h, w, channel] = p.x.place(i);
    const auto rows = p.height.windows(h), columns = p.width.windows(w);
    float sum = 0.0F;
    for (auto r = rows.begin; r < rows.end; ++r)
      for (auto c = columns.begin; c < columns.end; ++c)
        sum += load(dy, p.y.at(row, r, c, channel)) / elements_in(p.height.inside(r), p.width.inside(c));
    store(dx, i, sum);
  }
};

template <template <class T> class Element>
std::unique_ptr<Kernel> pooling_kernel(const OpCall& call, const Pooling& pooling) {
  return with_float_type(call.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    return cuda_kernel(call, [pooling](const Launch& where, Inputs in, Outputs out) {
      for_each(where, out[0].elements(), Element<T>{pooling, data_of<T>(in[0]), mutable_data_of<T>(out[0])});
    });
  });
}

}  // namespace

std::unique_ptr<Kernel> make_average_pool(const OpCall& call) {
  const Pooling pooling(call.attributes, call.inputs[0].shape, call.outputs[0].shape);
  return pooling_kernel<AverageWindow>(call, pooling);
}

std::unique_ptr<Kernel> make_average_pool_grad(const OpCall& call) {
  const Pooling pooling(call.attributes, call.outputs[0].shape, call.inputs[0].shape);
  return pooling_kernel<SpreadElement>(call, pooling);
}

}  // namespace troupe::cuda
