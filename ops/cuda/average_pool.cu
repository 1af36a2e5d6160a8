#include "troupe/ops/cuda/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels.hpp"
#include "troupe/ops/cuda/pooling.cuh"

namespace troupe::cuda {

namespace {

__device__ float elements_in(const Span& rows, const Span& columns) {
  return static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
}

/// The mean of a window, without the padding.
struct AverageWindow {
  Pooling p;
  const float* x;
  float* y;

  __device__ void operator()(std::int64_t i) const {
    const auto [row, h, w, channel] = p.y.place(i);
    const auto rows = p.height.inside(h), columns = p.width.inside(w);
    float sum = 0.0F;
    for (auto r = rows.begin; r < rows.end; ++r)
      for (auto c = columns.begin; c < columns.end; ++c) sum += x[p.x.at(row, r, c, channel)];
    y[i] = sum / elements_in(rows, columns);
  }
};

struct SpreadElement {
  Pooling p;
  const float* dy;
  float* dx;

  __device__ void operator()(std::int64_t i) const {
    const auto [row, h, w, channel] = p.x.place(i);
    const auto rows = p.height.windows(h), columns = p.width.windows(w);
    float sum = 0.0F;
    for (auto r = rows.begin; r < rows.end; ++r)
      for (auto c = columns.begin; c < columns.end; ++c)
        sum += dy[p.y.at(row, r, c, channel)] / elements_in(p.height.inside(r), p.width.inside(c));
    dx[i] = sum;
  }
};

}  // namespace

std::unique_ptr<Kernel> make_average_pool(const OpCall& call) {
  const Pooling pooling(call.attributes, call.inputs[0].shape, call.outputs[0].shape);
  return cuda_kernel(call, [pooling](const Launch& where, Inputs in, Outputs out) {
    for_each(where, out[0].elements(), AverageWindow{pooling, floats(in[0]), mutable_floats(out[0])});
  });
}

std::unique_ptr<Kernel> make_average_pool_grad(const OpCall& call) {
  const Pooling pooling(call.attributes, call.outputs[0].shape, call.inputs[0].shape);
  return cuda_kernel(call, [pooling](const Launch& where, Inputs in, Outputs out) {
    for_each(where, out[0].elements(), SpreadElement{pooling, floats(in[0]), mutable_floats(out[0])});
  });
}

}  // namespace troupe::cuda
