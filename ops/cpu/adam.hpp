#pragma once

#include <cmath>

#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/cpu/update.hpp"

namespace troupe::cpu {

/// The constants of Adam, AdamW and Lamb. 1 - beta is computed in double, because subtracting in float32 loses digits.
struct AdamRule {
  float beta1, one_minus_beta1, beta2, one_minus_beta2, epsilon, weight_decay;
};

inline AdamRule adam_rule(const OpCall& call) {
  const auto beta1 = call.attributes.number("beta1"), beta2 = call.attributes.number("beta2");
  return {static_cast<float>(beta1),       static_cast<float>(1.0 - beta1), static_cast<float>(beta2),
          static_cast<float>(1.0 - beta2), option(call, "epsilon"),         option(call, "weight_decay")};
}

/// The factors of m and of the root of v that correct their bias in one update, counted from 1.
struct BiasCorrection {
  double beta1, beta2;
  explicit BiasCorrection(const OpCall& call)
      : beta1(call.attributes.number("beta1")), beta2(call.attributes.number("beta2")) {}
  double of_m(double update) const { return 1.0 / (1.0 - std::pow(beta1, update)); }
  double of_root(double update) const { return 1.0 / std::sqrt(1.0 - std::pow(beta2, update)); }
};

inline double number_of_update(const Tensor& batch_info) {
  return static_cast<double>(BatchInfo::read(batch_info).step + 1);
}

}  // namespace troupe::cpu
