#include <cmath>

#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/loop_kernel.hpp"
#include "troupe/ops/data/batch_info.hpp"
#include "troupe/ops/nn/schedule.hpp"

namespace troupe::cpu {

namespace {

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

// 1 - beta, computed in double: subtracting in float32 loses digits.
struct AdamRule {
  float beta1, one_minus_beta1, beta2, one_minus_beta2, epsilon, weight_decay;
};

// `rate` and `root` include the bias correction of this step.
TROUPE_SIMD_CLONES void adam(std::int64_t n, float* p, float* m, float* v, const float* g, float rate, float root,
                             float factor, AdamRule rule) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float gradient = factor * g[i] + rule.weight_decay * p[i];
    m[i] = rule.beta1 * m[i] + rule.one_minus_beta1 * gradient;
    v[i] = rule.beta2 * v[i] + rule.one_minus_beta2 * gradient * gradient;
    p[i] -= rate * m[i] / (std::sqrt(v[i]) * root + rule.epsilon);
  }
}

/// Whether an update goes ahead: it has no flag, or the flag, its last input, is above 0. A NaN is not.
struct Condition {
  bool has_flag;
  bool holds(Inputs in) const { return !has_flag || floats(in.back())[0] > 0.0F; }
};

float option(const OpCall& call, const char* name) {
  return static_cast<float>(call.attributes.number(name));
}

}  // namespace

std::unique_ptr<Kernel> make_learning_rate(const OpCall& call) {
  return loop_kernel([schedule = Schedule::from(call.attributes)](Inputs in, Outputs out) {
    out[0].mutable_data<float>()[0] = static_cast<float>(schedule.at(BatchInfo::read(in[0]).step));
  });
}

std::unique_ptr<Kernel> make_global_norm_factor(const OpCall& call) {
  return loop_kernel([limit = call.attributes.number("limit")](Inputs in, Outputs out) {
    double squares = 0.0;
    for (const auto& gradient : in)
      for (auto element : gradient.data<float>()) squares += static_cast<double>(element) * element;
    const auto norm = std::sqrt(squares);
    out[0].mutable_data<float>()[0] = norm > limit ? static_cast<float>(limit / norm) : 1.0F;
  });
}

std::unique_ptr<Kernel> make_sgd_update(const OpCall& call) {
  const SgdRule rule{option(call, "momentum"), option(call, "weight_decay"), call.attributes.flag("nesterov")};
  const bool clipped = call.attributes.flag("clipped");
  const bool has_velocity = call.outputs.size() == 2;
  const std::size_t gradient = call.outputs.size();
  const Condition condition{call.inputs.size() > gradient + (clipped ? 3 : 2)};
  return loop_kernel([=](Inputs in, Outputs out) {
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
}

std::unique_ptr<Kernel> make_adam_update(const OpCall& call) {
  const auto beta1 = call.attributes.number("beta1");
  const auto beta2 = call.attributes.number("beta2");
  const AdamRule rule{static_cast<float>(beta1),       static_cast<float>(1.0 - beta1), static_cast<float>(beta2),
                      static_cast<float>(1.0 - beta2), option(call, "epsilon"),         option(call, "weight_decay")};
  const bool clipped = call.attributes.flag("clipped");
  const Condition condition{call.inputs.size() > (clipped ? 7 : 6)};
  return loop_kernel([=](Inputs in, Outputs out) {
    if (!condition.holds(in)) return;
    const auto step = static_cast<double>(BatchInfo::read(in[5]).step + 1);
    const auto rate = static_cast<double>(floats(in[4])[0]) / (1.0 - std::pow(beta1, step));
    const auto root = 1.0 / std::sqrt(1.0 - std::pow(beta2, step));
    const auto factor = clipped ? floats(in[6])[0] : 1.0F;
    adam(out[0].elements(), mutable_floats(out[0]), mutable_floats(out[1]), mutable_floats(out[2]), floats(in[3]),
         static_cast<float>(rate), static_cast<float>(root), factor, rule);
  });
}

}  // namespace troupe::cpu
