#include "troupe/ops/cuda/kernels/adam.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"

namespace troupe::cuda {

namespace {

/// The sums of squares of the parameter and of its step before scaling, of one block or of all.
struct LambSizes {
  float parameter, step;
};

/// A parameter with its moments, and the other inputs of its update.
struct Lamb {
  std::int64_t n;
  float* p;
  float* m;
  float* v;
  const float* g;
  const float* rate;
  const BatchInfo* info;
  const float* factor;
  const float* flag;
  AdamOptions options;
  BiasCorrection bias;
  /// One element for each block.
  LambSizes* sizes;

  /// The factors of the bias correction. One thread computes them for its block.
  struct Factors {
    float of_m, of_root;
  };
  __device__ Factors factors() const {
    __shared__ Factors shared;
    if (threadIdx.x == 0) shared = {static_cast<float>(1.0 / bias.of_m(info)), static_cast<float>(bias.of_root(info))};
    __syncthreads();
    return shared;
  }
  __device__ float step(const Factors& f, float before, float mean, float square) const {
    return f.of_m * mean / (sqrtf(square) * f.of_root + options.epsilon) + options.weight_decay * before;
  }
};

__global__ void __launch_bounds__(kBlock) lamb_moments_kernel(Lamb lamb) {
  if (!goes_ahead(lamb.flag)) return;
  const auto& options = lamb.options;
  const auto factors = lamb.factors();
  const float factor = number_or_one(lamb.factor);
  LambSizes sizes{0.0F, 0.0F};
  for (auto i = first_element(); i < lamb.n; i += element_stride()) {
    const float gradient = factor * lamb.g[i];
    const float mean = options.beta1 * lamb.m[i] + options.one_minus_beta1 * gradient;
    const float square = options.beta2 * lamb.v[i] + options.one_minus_beta2 * gradient * gradient;
    lamb.m[i] = mean;
    lamb.v[i] = square;
    const float step = lamb.step(factors, lamb.p[i], mean, square);
    sizes.parameter += lamb.p[i] * lamb.p[i];
    sizes.step += step * step;
  }
  sizes = {block_sum(sizes.parameter), block_sum(sizes.step)};
  if (threadIdx.x == 0) lamb.sizes[blockIdx.x] = sizes;
}

/// Applies the step. Every block adds up the sizes of all blocks; there are as many as blocks of this kernel.
__global__ void __launch_bounds__(kBlock) lamb_step_kernel(Lamb lamb) {
  if (!goes_ahead(lamb.flag)) return;
  const auto factors = lamb.factors();
  LambSizes sizes{0.0F, 0.0F};
  for (auto block = threadIdx.x; block < gridDim.x; block += kBlock) {
    sizes.parameter += lamb.sizes[block].parameter;
    sizes.step += lamb.sizes[block].step;
  }
  sizes = {block_sum(sizes.parameter), block_sum(sizes.step)};
  const bool zero = sizes.parameter == 0.0F || sizes.step == 0.0F;
  const float scale = *lamb.rate * (zero ? 1.0F : sqrtf(sizes.parameter / sizes.step));
  for (auto i = first_element(); i < lamb.n; i += element_stride())
    lamb.p[i] -= scale * lamb.step(factors, lamb.p[i], lamb.m[i], lamb.v[i]);
}

}  // namespace

std::unique_ptr<Kernel> make_lamb_update(const OpCall& call) {
  const auto blocks = std::min(blocks_for(call.inputs[0].shape.elements()), 1024U);
  return cuda_kernel(
      call,
      [=, options = AdamOptions(call), bias = BiasCorrection(call), update = UpdateCall(call, true)](
          const Launch& where, Inputs in, Outputs out) {
        const Lamb lamb{out[0].elements(),
                        mutable_floats(out[0]),
                        mutable_floats(out[1]),
                        mutable_floats(out[2]),
                        update.gradient(in),
                        update.rate(in),
                        update.batch_info(in),
                        update.factor(in),
                        update.flag(in),
                        options,
                        bias,
                        reinterpret_cast<LambSizes*>(where.scratch)};
        launch(where, blocks, kBlock, lamb_moments_kernel, lamb);
        launch(where, blocks, kBlock, lamb_step_kernel, lamb);
      },
      blocks * sizeof(LambSizes));
}

}  // namespace troupe::cuda
