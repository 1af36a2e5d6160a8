#include <cmath>

#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"

namespace troupe::cpu {

std::unique_ptr<Kernel> make_global_norm_factor(const OpCall& call) {
  return function_kernel([limit = call.attributes.number("limit")](Inputs in, Outputs out) {
    double squares = 0.0;
    for (const auto& gradient : in)
      for (auto element : gradient.data<float>()) squares += static_cast<double>(element) * element;
    const auto norm = std::sqrt(squares);
    out[0].mutable_data<float>()[0] = norm > limit ? static_cast<float>(limit / norm) : 1.0F;
  });
}

}  // namespace troupe::cpu
