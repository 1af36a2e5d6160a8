#include <cmath>

#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/lanes.hpp"
#include "troupe/ops/cpu/update.hpp"

namespace troupe::cpu {

namespace {

/// The constants of Adam, AdamW and Lamb. 1 - beta is computed in double, because subtracting in float32 loses digits.
struct AdamRule {
  float beta1, one_minus_beta1, beta2, one_minus_beta2, epsilon, weight_decay;
};

AdamRule adam_rule(const OpCall& call) {
  const auto beta1 = call.attributes.number("beta1"), beta2 = call.attributes.number("beta2");
  return {static_cast<float>(beta1),       static_cast<float>(1.0 - beta1),  static_cast<float>(beta2),
          static_cast<float>(1.0 - beta2), float_attribute(call, "epsilon"), float_attribute(call, "weight_decay")};
}

/// The bias corrections of Adam in update number `update`, counted from 1: the factor of m, and the factor of the
/// square root of v.
struct BiasCorrection {
  double beta1, beta2;
  explicit BiasCorrection(const OpCall& call)
      : beta1(call.attributes.number("beta1")), beta2(call.attributes.number("beta2")) {}
  double of_m(double update) const { return 1.0 / (1.0 - std::pow(beta1, update)); }
  double of_root(double update) const { return 1.0 / std::sqrt(1.0 - std::pow(beta2, update)); }
};

/// The position, among the inputs and the outputs, of the number of updates that a parameter has had.
constexpr std::size_t kUpdates = 3;

/// Runs `update`, then counts it, unless the flag forbids the update.
class CountedUpdate final : public Kernel {
 public:
  CountedUpdate(Condition condition, std::unique_ptr<Kernel> update)
      : condition_(condition), update_(std::move(update)) {}

  void run(const KernelContext& context, Inputs in, Outputs out) override {
    update_->run(context, in, out);
    if (condition_.holds(in)) mutable_floats(out[kUpdates])[0] += 1.0F;
  }

 private:
  Condition condition_;
  std::unique_ptr<Kernel> update_;
};

double number_of_update(const Tensor& updates) {
  return static_cast<double>(floats(updates)[0]) + 1.0;
}

// Updates n elements of a parameter p and its moments m and v with the gradient g. `rate` is the learning rate times
// the bias correction of m, `root` the bias correction of the square root of v, and `factor` the factor by which the
// gradient is clipped.
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

TROUPE_SIMD_CLONES void adam_moments(std::int64_t n, float* m, float* v, const float* g, float factor, AdamRule rule) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float gradient = factor * g[i];
    m[i] = rule.beta1 * m[i] + rule.one_minus_beta1 * gradient;
    v[i] = rule.beta2 * v[i] + rule.one_minus_beta2 * gradient * gradient;
  }
}

/// The result of lamb_sizes(): the sum of the squares of a parameter p, and the sum of the squares of Lamb's step for
/// p, before the learning rate is applied. In lamb_sizes() and lamb_step(), `rate` and `root` are the bias corrections
/// of m and of the square root of v.
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

std::unique_ptr<Kernel> make_adam_update(const OpCall& call) {
  const bool clipped = call.attributes.flag("clipped");
  const bool decoupled = call.attributes.has("decoupled") && call.attributes.flag("decoupled");
  const Condition condition{call.inputs.size() > (clipped ? 7 : 6)};
  auto rule = adam_rule(call);
  const auto decay = rule.weight_decay;
  if (decoupled) rule.weight_decay = 0.0F;
  auto update = function_kernel([=, bias = BiasCorrection(call)](Inputs in, Outputs out) {
    if (!condition.holds(in)) return;
    const auto number = number_of_update(in[kUpdates]);
    const auto lr = floats(in[5])[0];
    const auto rate = static_cast<double>(lr) / (1.0 - std::pow(bias.beta1, number));
    const auto factor = clipped ? floats(in[6])[0] : 1.0F;
    if (decoupled) shrink(out[0].elements(), mutable_floats(out[0]), lr * decay);
    adam(out[0].elements(), mutable_floats(out[0]), mutable_floats(out[1]), mutable_floats(out[2]), floats(in[4]),
         static_cast<float>(rate), static_cast<float>(bias.of_root(number)), factor, rule);
  });
  return std::make_unique<CountedUpdate>(condition, of_rows_with_gradient(call, 4, std::move(update)));
}

std::unique_ptr<Kernel> make_lamb_update(const OpCall& call) {
  const bool clipped = call.attributes.flag("clipped");
  const Condition condition{call.inputs.size() > (clipped ? 7 : 6)};
  auto step = function_kernel([=, rule = adam_rule(call), bias = BiasCorrection(call)](Inputs in, Outputs out) {
    if (!condition.holds(in)) return;
    const auto update = number_of_update(in[kUpdates]);
    const auto rate = static_cast<float>(bias.of_m(update)), root = static_cast<float>(bias.of_root(update));
    const auto n = out[0].elements();
    auto *p = mutable_floats(out[0]), *m = mutable_floats(out[1]), *v = mutable_floats(out[2]);
    adam_moments(n, m, v, floats(in[4]), clipped ? floats(in[6])[0] : 1.0F, rule);
    const auto sizes = lamb_sizes(n, p, m, v, rate, root, rule);
    const bool zero = sizes.parameter == 0.0F || sizes.step == 0.0F;
    lamb_step(n, p, m, v, floats(in[5])[0] * (zero ? 1.0F : std::sqrt(sizes.parameter / sizes.step)), rate, root, rule);
  });
  return std::make_unique<CountedUpdate>(condition, std::move(step));
}

}  // namespace troupe::cpu
