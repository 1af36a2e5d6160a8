#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/merged_updates.cuh"

namespace troupe::cuda {

namespace {

/// The values that all elements of a step share.
struct RateAndFactor {
  float rate, factor;
};

/// Updates the parameter without momentum.
struct SgdRule {
  using Step = RateAndFactor;
  static constexpr int kStored = 1;
  const float* rate;
  const float* factor;
  float weight_decay;

  __device__ Step step() const { return {*rate, number_or_one(factor)}; }
  __device__ void update(const Step& s, float g, float (&p)[1]) const {
    p[0] -= s.rate * (s.factor * g + weight_decay * p[0]);
  }
};

/// Updates the parameter and its velocity.
struct MomentumRule {
  using Step = RateAndFactor;
  static constexpr int kStored = 2;
  const float* rate;
  const float* factor;
  float momentum, weight_decay;
  bool nesterov;

  __device__ Step step() const { return {*rate, number_or_one(factor)}; }
  __device__ void update(const Step& s, float g, float (&stored)[2]) const {
    auto& [p, v] = stored;
    const float gradient = s.factor * g + weight_decay * p;
    v = momentum * v + gradient;
    p -= s.rate * (nesterov ? gradient + momentum * v : v);
  }
};

/// Updates the parameter and its sum of squares.
struct SquaresRule {
  using Step = RateAndFactor;
  static constexpr int kStored = 2;
  const float* rate;
  const float* factor;
  float keep, add, epsilon, weight_decay;

  __device__ Step step() const { return {*rate, number_or_one(factor)}; }
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
  return cuda_kernel(call, [=, updates = UpdateLaunch(call, false)](const Launch& where, Inputs in, Outputs out) {
    const auto *rate = updates.shared().rate(in), *factor = updates.shared().factor(in);
    if (has_velocity)
      updates.run(where, in, out, MomentumRule{rate, factor, momentum, weight_decay, nesterov});
    else
      updates.run(where, in, out, SgdRule{rate, factor, weight_decay});
  });
}

std::unique_ptr<Kernel> make_squares(const OpCall& call) {
  const float keep = option(call, "keep"), add = option(call, "add"), epsilon = option(call, "epsilon");
  const float weight_decay = option(call, "weight_decay");
  return cuda_kernel(call, [=, updates = UpdateLaunch(call, false)](const Launch& where, Inputs in, Outputs out) {
    const auto& shared = updates.shared();
    updates.run(where, in, out, SquaresRule{shared.rate(in), shared.factor(in), keep, add, epsilon, weight_decay});
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
