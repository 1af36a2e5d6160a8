#include <algorithm>
#include <cmath>

#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/lanes.hpp"
#include "troupe/ops/cpu/row_sparse.hpp"
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

/// The sums of squares of the parameter and of Lamb's step, whose factors include the bias corrections.
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

TROUPE_SIMD_CLONES void mix(std::int64_t n, float* y, float keep, const float* x, float add) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = keep * y[i] + add * x[i];
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
  return function_kernel([schedule = Schedule::from(call.attributes)](Inputs in, Outputs out) {
    out[0].mutable_data<float>()[0] = static_cast<float>(schedule.at(BatchInfo::read(in[0]).step));
  });
}

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
  const SgdRule rule{option(call, "momentum"), option(call, "weight_decay"), call.attributes.flag("nesterov")};
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

namespace {

AdamRule adam_rule(const OpCall& call) {
  const auto beta1 = call.attributes.number("beta1"), beta2 = call.attributes.number("beta2");
  return {static_cast<float>(beta1),       static_cast<float>(1.0 - beta1), static_cast<float>(beta2),
          static_cast<float>(1.0 - beta2), option(call, "epsilon"),         option(call, "weight_decay")};
}

/// What corrects the bias of the moments in one update, counted from 1: factors of m and of the root of v.
struct BiasCorrection {
  double beta1, beta2;
  explicit BiasCorrection(const OpCall& call)
      : beta1(call.attributes.number("beta1")), beta2(call.attributes.number("beta2")) {}
  double of_m(double update) const { return 1.0 / (1.0 - std::pow(beta1, update)); }
  double of_root(double update) const { return 1.0 / std::sqrt(1.0 - std::pow(beta2, update)); }
};

double number_of_update(const Tensor& batch_info) {
  return static_cast<double>(BatchInfo::read(batch_info).step + 1);
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

std::unique_ptr<Kernel> make_squares_update(const OpCall& call) {
  const bool clipped = call.attributes.flag("clipped");
  const Condition condition{call.inputs.size() > (clipped ? 5 : 4)};
  const SquaresRule rule{option(call, "keep"), option(call, "add"), option(call, "epsilon"),
                         option(call, "weight_decay")};
  auto update = function_kernel([=](Inputs in, Outputs out) {
    if (!condition.holds(in)) return;
    squares_step(out[0].elements(), mutable_floats(out[0]), mutable_floats(out[1]), floats(in[2]), floats(in[3])[0],
                 clipped ? floats(in[4])[0] : 1.0F, rule);
  });
  return of_rows_with_gradient(call, 2, std::move(update));
}

std::unique_ptr<Kernel> make_assign(const OpCall& call) {
  return function_kernel([condition = Condition{call.inputs.size() == 3}](Inputs in, Outputs out) {
    if (condition.holds(in)) std::copy_n(floats(in[1]), out[0].elements(), mutable_floats(out[0]));
  });
}

std::unique_ptr<Kernel> make_accumulation(const OpCall& call) {
  return function_kernel([steps = call.attributes.integer("steps"), condition = Condition{call.inputs.size() == 2}](
                             Inputs in, Outputs out) {
    auto info = BatchInfo::read(in[0]);
    const bool last = info.step % steps == steps - 1;
    info.step /= steps;
    info.write(out[0]);
    mutable_floats(out[1])[0] = last && condition.holds(in) ? 1.0F : 0.0F;
  });
}

// The sum of gradients divided by their number. What the update before left is dropped in its first step, also if the
// gradient of that is not used.
std::unique_ptr<Kernel> make_accumulate(const OpCall& call) {
  return function_kernel([steps = call.attributes.integer("steps"), condition = Condition{call.inputs.size() == 4}](
                             Inputs in, Outputs out) {
    const bool first = BatchInfo::read(in[2]).step % steps == 0;
    if (first) std::fill_n(mutable_floats(out[0]), out[0].elements(), 0.0F);
    if (condition.holds(in))
      mix(out[0].elements(), mutable_floats(out[0]), 1.0F, floats(in[1]), 1.0F / static_cast<float>(steps));
  });
}

std::unique_ptr<Kernel> make_average(const OpCall& call) {
  return function_kernel([decay = call.attributes.number("decay"), condition = Condition{call.inputs.size() == 4}](
                             Inputs in, Outputs out) {
    if (!condition.holds(in)) return;
    auto& begun = mutable_floats(out[1])[0];
    if (begun == 0.0F)
      std::copy_n(floats(in[2]), out[0].elements(), mutable_floats(out[0]));
    else
      mix(out[0].elements(), mutable_floats(out[0]), static_cast<float>(decay), floats(in[2]),
          static_cast<float>(1.0 - decay));
    begun = 1.0F;
  });
}

std::unique_ptr<Kernel> make_step_number(const OpCall&) {
  return function_kernel(
      [](Inputs in, Outputs out) { out[0].mutable_data<std::int64_t>()[0] = BatchInfo::read(in[0]).step; });
}

std::unique_ptr<Kernel> make_table_rate(const OpCall& call) {
  return function_kernel([count = call.inputs[0].shape[0]](Inputs in, Outputs out) {
    mutable_floats(out[0])[0] = floats(in[0])[std::min(BatchInfo::read(in[1]).step, count - 1)];
  });
}

}  // namespace troupe::cpu
