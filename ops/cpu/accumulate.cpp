#include <algorithm>

#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/update.hpp"

namespace troupe::cpu {

namespace {

TROUPE_SIMD_CLONES void mix(std::int64_t n, float* y, float keep, const float* x, float add) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = keep * y[i] + add * x[i];
}

TROUPE_SIMD_CLONES void divide(std::int64_t n, float* y, float divisor) {
  for (std::int64_t i = 0; i < n; ++i) y[i] /= divisor;
}

}  // namespace

std::unique_ptr<Kernel> make_assign(const OpCall& call) {
  return function_kernel([condition = Condition{call.inputs.size() == 3}](Inputs in, Outputs out) {
    if (condition.holds(in)) std::copy_n(floats(in[1]), out[0].elements(), mutable_floats(out[0]));
  });
}

std::unique_ptr<Kernel> make_accumulation(const OpCall& call) {
  return function_kernel([steps = call.attributes.integer("steps")](Inputs in, Outputs out) {
    auto info = BatchInfo::read(in[0]);
    const bool last = info.step % steps == steps - 1;
    info.step /= steps;
    info.write(out[0]);
    mutable_floats(out[1])[0] = last && floats(in[1])[0] != 0.0F ? 1.0F : 0.0F;
  });
}

std::unique_ptr<Kernel> make_accumulate(const OpCall& call) {
  const bool weighted = call.attributes.has("weighted");
  const Condition condition{call.inputs.size() == (weighted ? 7 : 6)};
  return function_kernel([steps = call.attributes.integer("steps"), weighted, condition](Inputs in, Outputs out) {
    const auto batch = BatchInfo::read(in[4]);
    auto* const sum = mutable_floats(out[0]);
    auto &rows = mutable_floats(out[1])[0], &end = mutable_floats(out[2])[0];
    const auto n = out[0].elements();
    if (batch.step % steps == 0 || end != end_of_update(batch.step, steps)) {
      std::fill_n(sum, n, 0.0F);
      rows = 0.0F;
    }
    end = end_of_update(batch.step, steps);
    if (condition.holds(in)) {
      const auto rows_of_step = weighted ? floats(in[5])[0] : static_cast<float>(batch.global_rows);
      mix(n, sum, 1.0F, floats(in[3]), weighted && rows_of_step == 0.0F ? 1.0F : rows_of_step);
      rows += rows_of_step;
    }
    if (batch.step % steps == steps - 1 && rows != 0.0F) divide(n, sum, rows);
  });
}

std::unique_ptr<Kernel> make_average(const OpCall& call) {
  return function_kernel([decay = call.attributes.number("decay"), condition = Condition{call.inputs.size() == 5}](
                             Inputs in, Outputs out) {
    auto& begun = mutable_floats(out[1])[0];
    const bool updates = condition.holds(in);
    if (updates || begun == 0.0F) std::copy_n(floats(in[3]), out[0].elements(), mutable_floats(out[0]));
    if (updates)
      mix(out[0].elements(), mutable_floats(out[0]), static_cast<float>(decay), floats(in[2]),
          static_cast<float>(1.0 - decay));
    begun = 1.0F;
  });
}

}  // namespace troupe::cpu
