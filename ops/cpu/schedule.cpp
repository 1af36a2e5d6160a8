#include "troupe/ops/nn/schedule.hpp"

#include <algorithm>

#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"

namespace troupe::cpu {

std::unique_ptr<Kernel> make_learning_rate(const OpCall& call) {
  return function_kernel([schedule = Schedule::from(call.attributes)](Inputs in, Outputs out) {
    out[0].mutable_data<float>()[0] = static_cast<float>(schedule.at(BatchInfo::read(in[0]).step));
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
