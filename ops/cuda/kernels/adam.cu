#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/update.cuh"

namespace troupe::cuda {

namespace {

/// The correction of the moments m and v for their bias toward their initial zeros.
struct BiasCorrection {
  double beta1, beta2;

  /// The divisor of m in the update after `updates` updates.
  __device__ double of_m(float updates) const { return 1.0 - power(beta1, updates); }
  /// The factor of the square root of v in the update after `updates` updates.
  __device__ double of_root(float updates) const { return 1.0 / sqrt(1.0 - power(beta2, updates)); }

 private:
  __device__ static double power(double beta, float updates) { return pow(beta, static_cast<double>(updates) + 1.0); }
};

/// The constants of Adam, AdamW and Lamb. 1 - beta is computed in double, because a subtraction in float32 would lose
/// digits.
struct AdamOptions {
  BiasCorrection bias;
  float beta1, one_minus_beta1, beta2, one_minus_beta2, epsilon, weight_decay;

  explicit AdamOptions(const OpCall& call)
      : bias{call.attributes.number("beta1"), call.attributes.number("beta2")},
        beta1(static_cast<float>(bias.beta1)),
        one_minus_beta1(static_cast<float>(1.0 - bias.beta1)),
        beta2(static_cast<float>(bias.beta2)),
        one_minus_beta2(static_cast<float>(1.0 - bias.beta2)),
        epsilon(option(call, "epsilon")),
        weight_decay(option(call, "weight_decay")) {}
};

/// The update rule of Adam and AdamW, in the form that update.cuh requires: step() computes the values that all
/// elements share, and update() changes one element of the parameter p and of its moments m and v.
struct AdamRule : SharedInputs {
  struct Step {
    float rate, root, factor, shrink;
  };
  static constexpr int kStored = 3;
  static constexpr bool kCounted = true;
  AdamOptions options;
  /// AdamW's weight decay; 0 for Adam. Before the step the parameter is decreased by this part of itself times the
  /// learning rate.
  float decoupled_decay;

  __device__ Step step(const float* updates) const {
    return {static_cast<float>(static_cast<double>(*rate) / options.bias.of_m(*updates)),
            static_cast<float>(options.bias.of_root(*updates)), factor_or_one(), *rate * decoupled_decay};
  }
  __device__ void update(const Step& s, float g, float (&stored)[3]) const {
    auto& [p, m, v] = stored;
    if (decoupled_decay != 0.0F) p -= s.shrink * p;
    const float gradient = s.factor * g + options.weight_decay * p;
    m = options.beta1 * m + options.one_minus_beta1 * gradient;
    v = options.beta2 * v + options.one_minus_beta2 * gradient * gradient;
    p -= s.rate * m / (sqrtf(v) * s.root + options.epsilon);
  }
};

std::unique_ptr<Kernel> make_adam(const OpCall& call) {
  AdamOptions options(call);
  float decoupled_decay = 0.0F;
  if (call.attributes.has("decoupled") && call.attributes.flag("decoupled"))
    std::swap(decoupled_decay, options.weight_decay);
  return cuda_kernel(call, [=, updates = UpdateLaunch(call)](const Launch& where, Inputs in, Outputs out) {
    updates.run(where, in, out, AdamRule{updates.shared(in), options, decoupled_decay});
  });
}

/// Sums of squares over the elements of one block or of all blocks: of the parameter, and of Lamb's step before it is
/// scaled.
struct LambSizes {
  float parameter, step;
};

/// The tensors and the constants of a Lamb update of one parameter.
struct Lamb : SharedInputs {
  std::int64_t n;
  float* p;
  float* m;
  float* v;
  float* updates;
  const float* g;
  AdamOptions options;
  /// The sums of squares of each block, in scratch memory.
  LambSizes* sizes;

  /// The factors of the bias correction, equal for all elements. factors() lets one thread compute them for its block;
  /// all threads of the block must call it.
  struct Factors {
    float of_m, of_root;
  };
  __device__ Factors factors() const {
    __shared__ Factors shared;
    const auto& bias = options.bias;
    if (threadIdx.x == 0)
      shared = {static_cast<float>(1.0 / bias.of_m(*updates)), static_cast<float>(bias.of_root(*updates))};
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
  const float factor = lamb.factor_or_one();
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

/// Applies Lamb's step to the parameter. Every block adds up the sums of squares that the blocks of lamb_moments_kernel
/// have stored. Both kernels must have the same number of blocks.
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

/// Counts the update. Must be launched after the other kernels, which read the number of updates.
__global__ void count_update_kernel(Lamb lamb) {
  if (goes_ahead(lamb.flag)) *lamb.updates += 1.0F;
}

}  // namespace

std::unique_ptr<Kernel> make_adam_update(const OpCall& call) {
  return make_adam(call);
}
std::unique_ptr<Kernel> make_adam_updates(const OpCall& call) {
  return make_adam(call);
}

std::unique_ptr<Kernel> make_lamb_update(const OpCall& call) {
  const auto blocks = std::min(blocks_for(call.inputs[0].shape.elements()), 1024U);
  return cuda_kernel(
      call,
      [=, options = AdamOptions(call), update = UpdateCall(call)](const Launch& where, Inputs in, Outputs out) {
        const Lamb lamb{update.shared(in),
                        out[0].elements(),
                        mutable_floats(out[0]),
                        mutable_floats(out[1]),
                        mutable_floats(out[2]),
                        mutable_floats(out[3]),
                        update.gradient(in),
                        options,
                        reinterpret_cast<LambSizes*>(where.scratch)};
        launch(where, blocks, kBlock, lamb_moments_kernel, lamb);
        launch(where, blocks, kBlock, lamb_step_kernel, lamb);
        launch(where, 1, 1, count_update_kernel, lamb);
      },
      blocks * sizeof(LambSizes));
}

}  // namespace troupe::cuda
