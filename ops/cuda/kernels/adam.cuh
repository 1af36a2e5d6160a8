#pragma once

#include "troupe/ops/cuda/kernels/update.cuh"

namespace troupe::cuda {

/// The constants of Adam, AdamW and Lamb. 1 - beta is computed in double, because subtracting in float32 loses digits.
struct AdamOptions {
  float beta1, one_minus_beta1, beta2, one_minus_beta2, epsilon, weight_decay;

  explicit AdamOptions(const OpCall& call)
      : beta1(option(call, "beta1")),
        one_minus_beta1(static_cast<float>(1.0 - call.attributes.number("beta1"))),
        beta2(option(call, "beta2")),
        one_minus_beta2(static_cast<float>(1.0 - call.attributes.number("beta2"))),
        epsilon(option(call, "epsilon")),
        weight_decay(option(call, "weight_decay")) {}
};

/// The correction of the bias of the moments m and v.
struct BiasCorrection {
  double beta1, beta2;

  explicit BiasCorrection(const OpCall& call)
      : beta1(call.attributes.number("beta1")), beta2(call.attributes.number("beta2")) {}
  /// The divisor of m in the update of a step.
  __device__ double of_m(const BatchInfo* info) const { return 1.0 - power(beta1, info); }
  /// The factor of the root of v.
  __device__ double of_root(const BatchInfo* info) const { return 1.0 / sqrt(1.0 - power(beta2, info)); }

 private:
  __device__ static double power(double beta, const BatchInfo* info) {
    return pow(beta, static_cast<double>(info->step + 1));
  }
};

}  // namespace troupe::cuda
