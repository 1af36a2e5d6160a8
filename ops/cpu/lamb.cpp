#include "troupe/ops/cpu/adam.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/lanes.hpp"

namespace troupe::cpu {

namespace {

TROUPE_SIMD_CLONES void adam_moments(std::int64_t n, float* m, float* v, const float* g, float factor, AdamRule rule) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float gradient = factor * g[i];
    m[i] = rule.beta1 * m[i] + rule.one_minus_beta1 * gradient;
    v[i] = rule.beta2 * v[i] + rule.one_minus_beta2 * gradient * gradient;
  }
}

/// The sums of the squares of a parameter and of Lamb's step for it. The factors of the step include the bias
/// corrections.
struct LambSizes {
  float parameter, step;
};
TROUPE_SIMD_CLONES LambSizes lamb_sizes(std::int64_t n, const float* p, const float* m, const float* v, float rate,
                                        float root, AdamRule rule) {
  const auto step = [=](std::int64_t i) {
    return rate * m[i] / (std::sqrt(v[i]) * root + rule.epsilon) + rule.weight_decay * p[i];
  };
  return {lane_sum(n, [=](std::int64_t i) { return p[i] * p[i]; }),
          lane_sum(n, [=](std::int64_t i) { return step(i) * step(i); })};
}
TROUPE_SIMD_CLONES void lamb_step(std::int64_t n, float* p, const float* m, const float* v, float scale, float rate,
                                  float root, AdamRule rule) {
  for (std::int64_t i = 0; i < n; ++i)
    p[i] -= scale * (rate * m[i] / (std::sqrt(v[i]) * root + rule.epsilon) + rule.weight_decay * p[i]);
}

}  // namespace

std::unique_ptr<Kernel> make_lamb_update(const OpCall& call) {
  const bool clipped = call.attributes.flag("clipped");
  const Condition condition{call.inputs.size() > (clipped ? 7 : 6)};
  return function_kernel([=, rule = adam_rule(call), bias = BiasCorrection(call)](Inputs in, Outputs out) {
    if (!condition.holds(in)) return;
    const auto update = number_of_update(in[5]);
    const auto rate = static_cast<float>(bias.of_m(update)), root = static_cast<float>(bias.of_root(update));
    const auto n = out[0].elements();
    auto *p = mutable_floats(out[0]), *m = mutable_floats(out[1]), *v = mutable_floats(out[2]);
    adam_moments(n, m, v, floats(in[3]), clipped ? floats(in[6])[0] : 1.0F, rule);
    const auto sizes = lamb_sizes(n, p, m, v, rate, root, rule);
    const bool zero = sizes.parameter == 0.0F || sizes.step == 0.0F;
    lamb_step(n, p, m, v, floats(in[4])[0] * (zero ? 1.0F : std::sqrt(sizes.parameter / sizes.step)), rate, root, rule);
  });
}

}  // namespace troupe::cpu
