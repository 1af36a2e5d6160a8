#include "troupe/ops/cpu/adam.hpp"

#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/row_sparse.hpp"

namespace troupe::cpu {

namespace {

// Updates n elements of a parameter p and its moments m and v with the gradient g. `rate` and `root` are the factors of
// m and of the root of v; they include the learning rate and the bias correction of this step.
TROUPE_SIMD_CLONES void adam(std::int64_t n, float* p, float* m, float* v, const float* g, float rate, float root,
                             float factor, AdamRule rule) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float gradient = factor * g[i] + rule.weight_decay * p[i];
    m[i] = rule.beta1 * m[i] + rule.one_minus_beta1 * gradient;
    v[i] = rule.beta2 * v[i] + rule.one_minus_beta2 * gradient * gradient;
    p[i] -= rate * m[i] / (std::sqrt(v[i]) * root + rule.epsilon);
  }
}

TROUPE_SIMD_CLONES void shrink(std::int64_t n, float* p, float part) {
  for (std::int64_t i = 0; i < n; ++i) p[i] -= part * p[i];
}

}  // namespace

std::unique_ptr<Kernel> make_adam_update(const OpCall& call) {
  const bool clipped = call.attributes.flag("clipped");
  const bool decoupled = call.attributes.has("decoupled") && call.attributes.flag("decoupled");
  const Condition condition{call.inputs.size() > (clipped ? 7 : 6)};
  auto rule = adam_rule(call);
  const auto decay = rule.weight_decay;
  if (decoupled) rule.weight_decay = 0.0F;
  auto update = function_kernel([=, bias = BiasCorrection(call)](Inputs in, Outputs out) {
    if (!condition.holds(in)) return;
    const auto number = number_of_update(in[5]);
    const auto lr = floats(in[4])[0];
    const auto rate = static_cast<double>(lr) / (1.0 - std::pow(bias.beta1, number));
    const auto factor = clipped ? floats(in[6])[0] : 1.0F;
    if (decoupled) shrink(out[0].elements(), mutable_floats(out[0]), lr * decay);
    adam(out[0].elements(), mutable_floats(out[0]), mutable_floats(out[1]), mutable_floats(out[2]), floats(in[3]),
         static_cast<float>(rate), static_cast<float>(bias.of_root(number)), factor, rule);
  });
  return of_rows_with_gradient(call, 3, std::move(update));
}

}  // namespace troupe::cpu
