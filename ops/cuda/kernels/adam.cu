#include "troupe/ops/cuda/kernels/adam.cuh"

#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/merged_updates.cuh"

namespace troupe::cuda {

namespace {

/// Updates the parameter and its moments m and v.
struct AdamRule {
  struct Step {
    float rate, root, factor, shrink;
  };
  static constexpr int kStored = 3;
  const float* rate;
  const BatchInfo* info;
  const float* factor;
  AdamOptions options;
  BiasCorrection bias;
  /// The decrease of the parameter before the step, as a fraction of the parameter per learning rate.
  float decoupled_decay;

  __device__ Step step() const {
    return {static_cast<float>(static_cast<double>(*rate) / bias.of_m(info)), static_cast<float>(bias.of_root(info)),
            number_or_one(factor), *rate * decoupled_decay};
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
  return cuda_kernel(call, [=, bias = BiasCorrection(call), updates = UpdateLaunch(call, true)](
                               const Launch& where, Inputs in, Outputs out) {
    const auto& shared = updates.shared();
    updates.run(where, in, out,
                AdamRule{shared.rate(in), shared.batch_info(in), shared.factor(in), options, bias, decoupled_decay});
  });
}

}  // namespace

std::unique_ptr<Kernel> make_adam_update(const OpCall& call) {
  return make_adam(call);
}
std::unique_ptr<Kernel> make_adam_updates(const OpCall& call) {
  return make_adam(call);
}

}  // namespace troupe::cuda
