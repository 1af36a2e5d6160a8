#include <cmath>

#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/update.hpp"

namespace troupe::cpu {

namespace {

/// The attributes of SGD. `nesterov` and a `momentum` other than 0 are only for updates with a velocity.
struct SgdRule {
  float momentum, weight_decay;
  bool nesterov;
};

TROUPE_SIMD_CLONES void sgd(std::int64_t n, float* p, const float* g, float rate, float factor, float decay) {
  for (std::int64_t i = 0; i < n; ++i) p[i] -= rate * (factor * g[i] + decay * p[i]);
}

TROUPE_SIMD_CLONES void sgd_momentum(std::int64_t n, float* p, float* v, const float* g, float rate, float factor,
                                     SgdRule rule) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float gradient = factor * g[i] + rule.weight_decay * p[i];
    v[i] = rule.momentum * v[i] + gradient;
    p[i] -= rate * (rule.nesterov ? gradient + rule.momentum * v[i] : v[i]);
  }
}

/// The attributes of Adagrad and RMSProp, which divide the gradient by the square root of a sum of squared gradients.
/// In each update that sum is multiplied by `keep`, then the squared gradient times `add` is added.
struct SquaresRule {
  float keep, add, epsilon, weight_decay;
};
TROUPE_SIMD_CLONES void squares_step(std::int64_t n, float* p, float* squares, const float* g, float rate, float factor,
                                     SquaresRule rule) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float gradient = factor * g[i] + rule.weight_decay * p[i];
    squares[i] = rule.keep * squares[i] + rule.add * gradient * gradient;
    p[i] -= rate * gradient / (std::sqrt(squares[i]) + rule.epsilon);
  }
}

}  // namespace

std::unique_ptr<Kernel> make_global_norm_factor(const OpCall& call) {
  return function_kernel([limit = call.attributes.number("limit")](Inputs in, Outputs out) {
    double squares = 0.0;
    for (const auto& gradient : in)
      for (auto element : gradient.data<float>()) squares += static_cast<double>(element) * element;
    const auto norm = std::sqrt(squares);
    out[0].mutable_data<float>()[0] = norm > limit ? static_cast<float>(limit / norm) : 1.0F;
  });
}

std::unique_ptr<Kernel> make_sgd_update(const OpCall& call) {
  const SgdRule rule{float_attribute(call, "momentum"), float_attribute(call, "weight_decay"),
                     call.attributes.flag("nesterov")};
  const bool clipped = call.attributes.flag("clipped");
  const bool has_velocity = call.outputs.size() == 2;
  const std::size_t gradient = call.outputs.size();
  const Condition condition{call.inputs.size() > gradient + (clipped ? 3 : 2)};
  auto update = function_kernel([=](Inputs in, Outputs out) {
    if (!condition.holds(in)) return;
    const auto rate = floats(in[gradient + 1])[0];
    const auto factor = clipped ? floats(in[gradient + 2])[0] : 1.0F;
    auto* p = mutable_floats(out[0]);
    const auto n = out[0].elements();
    if (has_velocity)
      sgd_momentum(n, p, mutable_floats(out[1]), floats(in[gradient]), rate, factor, rule);
    else
      sgd(n, p, floats(in[gradient]), rate, factor, rule.weight_decay);
  });
  return of_rows_with_gradient(call, gradient, std::move(update));
}

std::unique_ptr<Kernel> make_squares_update(const OpCall& call) {
  const bool clipped = call.attributes.flag("clipped");
  const Condition condition{call.inputs.size() > (clipped ? 5 : 4)};
  const SquaresRule rule{float_attribute(call, "keep"), float_attribute(call, "add"), float_attribute(call, "epsilon"),
                         float_attribute(call, "weight_decay")};
  auto update = function_kernel([=](Inputs in, Outputs out) {
    if (!condition.holds(in)) return;
    squares_step(out[0].elements(), mutable_floats(out[0]), mutable_floats(out[1]), floats(in[2]), floats(in[3])[0],
                 clipped ? floats(in[4])[0] : 1.0F, rule);
  });
  return of_rows_with_gradient(call, 2, std::move(update));
}

}  // namespace troupe::cpu
