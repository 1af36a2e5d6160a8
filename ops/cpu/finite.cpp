#include <cmath>
#include <cstring>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"

namespace troupe::cpu {

namespace {

/// The first element of a tensor that is a NaN or an infinity; null if all elements are finite.
const float* first_not_finite(const Tensor& tensor) {
  const auto* end = floats(tensor) + tensor.elements();
  for (const auto* element = floats(tensor); element != end; ++element)
    if (!std::isfinite(*element)) return element;
  return nullptr;
}

void copy_elements(const Tensor& from, const Tensor& to) {
  std::memcpy(to.address(), from.address(), from.bytes());
}

}  // namespace

std::unique_ptr<Kernel> make_all_finite(const OpCall&) {
  return function_kernel([](Inputs in, Outputs out) {
    bool finite = true;
    for (const auto& tensor : in) finite = finite && first_not_finite(tensor) == nullptr;
    mutable_floats(out[0])[0] = finite ? 1.0F : 0.0F;
  });
}

std::unique_ptr<Kernel> make_at_least(const OpCall& call) {
  return function_kernel([threshold = float_attribute(call, "threshold")](Inputs in, Outputs out) {
    for (std::int64_t i = 0; i < in[0].elements(); ++i)
      mutable_floats(out[0])[i] = floats(in[0])[i] >= threshold ? 1.0F : 0.0F;
  });
}

std::unique_ptr<Kernel> make_at_most(const OpCall& call) {
  return function_kernel([threshold = float_attribute(call, "threshold")](Inputs in, Outputs out) {
    for (std::int64_t i = 0; i < in[0].elements(); ++i)
      mutable_floats(out[0])[i] = floats(in[0])[i] <= threshold ? 1.0F : 0.0F;
  });
}

std::unique_ptr<Kernel> make_check_finite(const OpCall&) {
  return function_kernel([](Inputs in, Outputs out) {
    if (const auto* element = first_not_finite(in[0]))
      throw Error("check_finite", "the value is " + std::to_string(*element));
    copy_elements(in[0], out[0]);
  });
}

std::unique_ptr<Kernel> make_control_dependency(const OpCall&) {
  return function_kernel([](Inputs in, Outputs out) { copy_elements(in[0], out[0]); });
}

}  // namespace troupe::cpu
