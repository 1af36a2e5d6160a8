#include "troupe/ops/nn/schedule.hpp"

#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels/kernels.hpp"

namespace troupe::cuda {

namespace {

/// Computes the learning rate of a step on the device from the fields of a Schedule, like Schedule::at() on the host.
struct Rate {
  Schedule::Kind kind;
  double base, decay, floor;
  std::int64_t period, warm_up;
  const BatchInfo* info;
  float* rate;

  __device__ double at(std::int64_t step) const {
    constexpr double kPi = 3.14159265358979323846;
    double result = base;
    if (kind == Schedule::Kind::step) result = base * pow(decay, static_cast<double>(step / period));
    if (kind == Schedule::Kind::cosine) {
      const auto part = static_cast<double>(step < period ? step : period) / static_cast<double>(period);
      result = floor + (base - floor) * 0.5 * (1.0 + cos(kPi * part));
    }
    if (step < warm_up) result *= static_cast<double>(step + 1) / static_cast<double>(warm_up);
    return result;
  }
  __device__ void operator()(std::int64_t) const { *rate = static_cast<float>(at(info->step)); }
};

/// Copies the number of the step from the batch info.
struct StepNumber {
  const BatchInfo* info;
  std::int64_t* step;
  __device__ void operator()(std::int64_t) const { *step = info->step; }
};

/// Copies the learning rate of a step from a table. Steps beyond the end of the table have its last rate, negative
/// steps its first.
struct TableRate {
  const float* table;
  std::int64_t count;
  const BatchInfo* info;
  float* rate;
  __device__ void operator()(std::int64_t) const {
    const auto step = info->step < 0 ? 0 : info->step;
    *rate = table[step < count ? step : count - 1];
  }
};

}  // namespace

std::unique_ptr<Kernel> make_learning_rate(const OpCall& call) {
  return cuda_kernel(call, [s = Schedule::from(call.attributes)](const Launch& where, Inputs in, Outputs out) {
    for_each(where, 1,
             Rate{s.kind, s.base, s.decay, s.floor, s.period, s.warm_up, batch_info_of(in[0]), mutable_floats(out[0])});
  });
}

std::unique_ptr<Kernel> make_step_number(const OpCall& call) {
  return cuda_kernel(call, [](const Launch& where, Inputs in, Outputs out) {
    for_each(where, 1, StepNumber{batch_info_of(in[0]), mutable_data_of<std::int64_t>(out[0])});
  });
}

std::unique_ptr<Kernel> make_table_rate(const OpCall& call) {
  return cuda_kernel(call, [count = call.inputs[0].shape[0]](const Launch& where, Inputs in, Outputs out) {
    for_each(where, 1, TableRate{floats(in[0]), count, batch_info_of(in[1]), mutable_floats(out[0])});
  });
}

}  // namespace troupe::cuda
