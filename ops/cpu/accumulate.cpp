#include <algorithm>

#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/update.hpp"

namespace troupe::cpu {

namespace {

TROUPE_SIMD_CLONES void mix(std::int64_t n, float* y, float keep, const float* x, float add) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = keep * y[i] + add * x[i];
}

}  // namespace

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

// The kernel adds gradient / steps to the sum, unless input 3, a flag, exists and is not above 0. An update takes
// `steps` steps. In the first of them the kernel sets the sum to zero before, even if it does not add the gradient of
// that step.
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

}  // namespace troupe::cpu
