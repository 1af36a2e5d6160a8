#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/update.cuh"

namespace troupe::cuda {

namespace {

/// The base of the update rules below: update() of a rule changes one element of a parameter and its states. step()
/// returns the learning rate and the factor of the gradients, which all elements share. See update.cuh.
struct RateAndFactor : SharedInputs {
  struct Step {
    float rate, factor;
  };
  static constexpr bool kCounted = false;
  __device__ Step step(const float*) const { return {*rate, factor_or_one()}; }
};

/// Updates the parameter by gradient descent without momentum.
struct SgdRule : RateAndFactor {
  static constexpr int kStored = 1;
  float weight_decay;

  __device__ void update(const Step& s, float g, float (&p)[1]) const {
    p[0] -= s.rate * (s.factor * g + weight_decay * p[0]);
  }
};

/// Updates the parameter and its velocity, by gradient descent with momentum.
struct MomentumRule : RateAndFactor {
  static constexpr int kStored = 2;
  float momentum, weight_decay;
  bool nesterov;

  __device__ void update(const Step& s, float g, float (&stored)[2]) const {
    auto& [p, v] = stored;
    const float gradient = s.factor * g + weight_decay * p;
    v = momentum * v + gradient;
    p -= s.rate * (nesterov ? gradient + momentum * v : v);
  }
};

/// Updates the parameter and the weighted sum of its squared gradients, as RMSProp and Adagrad do.
struct SquaresRule : RateAndFactor {
  static constexpr int kStored = 2;
  float keep, add, epsilon, weight_decay;

  __device__ void update(const Step& s, float g, float (&stored)[2]) const {
    auto& [p, squares] = stored;
    const float gradient = s.factor * g + weight_decay * p;
    squares = keep * squares + add * gradient * gradient;
    p -= s.rate * gradient / (sqrtf(squares) + epsilon);
  }
};

std::unique_ptr<Kernel> make_sgd(const OpCall& call) {
  const float momentum = option(call, "momentum"), weight_decay = option(call, "weight_decay");
  const bool nesterov = call.attributes.flag("nesterov"), has_velocity = call.attributes.number("momentum") != 0.0;
  return cuda_kernel(call, [=, updates = UpdateLaunch(call)](const Launch& where, Inputs in, Outputs out) {
    const RateAndFactor shared{updates.shared(in)};
    if (has_velocity)
      updates.run(where, in, out, MomentumRule{shared, momentum, weight_decay, nesterov});
    else
      updates.run(where, in, out, SgdRule{shared, weight_decay});
  });
}

std::unique_ptr<Kernel> make_squares(const OpCall& call) {
  const float keep = option(call, "keep"), add = option(call, "add"), epsilon = option(call, "epsilon");
  const float weight_decay = option(call, "weight_decay");
  return cuda_kernel(call, [=, updates = UpdateLaunch(call)](const Launch& where, Inputs in, Outputs out) {
    updates.run(where, in, out, SquaresRule{{updates.shared(in)}, keep, add, epsilon, weight_decay});
  });
}

}  // namespace

std::unique_ptr<Kernel> make_sgd_update(const OpCall& call) {
  return make_sgd(call);
}
std::unique_ptr<Kernel> make_sgd_updates(const OpCall& call) {
  return make_sgd(call);
}
std::unique_ptr<Kernel> make_squares_update(const OpCall& call) {
  return make_squares(call);
}
std::unique_ptr<Kernel> make_squares_updates(const OpCall& call) {
  return make_squares(call);
}

}  // namespace troupe::cuda
