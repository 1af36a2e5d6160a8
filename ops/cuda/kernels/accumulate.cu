#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/update.cuh"

namespace troupe::cuda {

namespace {

/// Copies an element of x to the state, unless `flag` forbids it. In this file a flag forbids a change if it is not
/// null and not above 0; see goes_ahead() in update.cuh.
struct Assign {
  const float* flag;
  const float* x;
  float* state;
  __device__ void operator()(std::int64_t i) const {
    if (goes_ahead(flag)) state[i] = x[i];
  }
};

/// Writes to `info_of_update` a copy of the batch info in which `step` counts updates, of `steps` steps each, instead
/// of steps. `last` becomes 1 if this step is the last one of an update and the accumulated rows are not 0, else 0.
struct CountSteps {
  std::int64_t steps;
  const float* rows;
  const BatchInfo* info;
  BatchInfo* info_of_update;
  float* last;
  __device__ void operator()(std::int64_t) const {
    auto batch = *info;
    *last = batch.step % steps == steps - 1 && *rows != 0.0F ? 1.0F : 0.0F;
    batch.step /= steps;
    *info_of_update = batch;
  }
};

/// A step of an update of `steps` steps. It weighs as much as `weight`, or as its rows if `weight` is null. `rows` and
/// `end` are those of the sum before the step; see infer_accumulate() in optimizer.cpp.
struct AccumulatedStep {
  std::int64_t steps;
  const float* flag;
  const BatchInfo* info;
  const float* weight;
  float* rows;
  float* end;
  /// True if the sum starts from zero.
  __device__ bool is_first() const { return info->step % steps == 0 || *end != end_of_update(info->step, steps); }
  __device__ bool is_last() const { return info->step % steps == steps - 1; }
  __device__ float rows_of_step() const { return weight != nullptr ? *weight : static_cast<float>(info->global_rows); }
  __device__ float factor() const { return weight != nullptr && *weight == 0.0F ? 1.0F : rows_of_step(); }
  __device__ float rows_after() const {
    const float before = is_first() ? 0.0F : *rows;
    return goes_ahead(flag) ? before + rows_of_step() : before;
  }
};
/// Adds the gradient of an element, times the weight of the step, to its sum over the steps of an update, unless the
/// flag forbids it. The sum starts from zero in the first step, even if the gradient of that step is not added. The
/// last step of an update divides the sum by its rows.
struct Accumulate {
  AccumulatedStep step;
  const float* gradient;
  float* sum;
  __device__ void operator()(std::int64_t i) const {
    float next = step.is_first() ? 0.0F : sum[i];
    if (goes_ahead(step.flag)) next += step.factor() * gradient[i];
    const float rows = step.rows_after();
    sum[i] = step.is_last() && rows != 0.0F ? next / rows : next;
  }
};
/// Adds the rows of a step to those of the sum, and sets the end of the sum. Must be launched after Accumulate, whose
/// threads read both.
struct AccumulateRows {
  AccumulatedStep step;
  __device__ void operator()(std::int64_t) const {
    *step.rows = step.rows_after();
    *step.end = end_of_update(step.info->step, step.steps);
  }
};

/// Updates an element of an exponential moving average to keep * before + add * x. If `flag` forbids it, an average
/// that has not begun gets the value `before`, and another one keeps its value.
struct Average {
  const float* flag;
  const float* begun;
  const float* x;
  const float* before;
  float* average;
  float keep, add;
  __device__ void operator()(std::int64_t i) const {
    if (goes_ahead(flag))
      average[i] = keep * before[i] + add * x[i];
    else if (*begun == 0.0F)
      average[i] = before[i];
  }
};
/// Sets `begun` to 1, which records that the average has begun. Must be launched after Average, whose threads read
/// `begun`.
struct Begin {
  float* begun;
  __device__ void operator()(std::int64_t) const { *begun = 1.0F; }
};

}  // namespace

std::unique_ptr<Kernel> make_assign(const OpCall& call) {
  return cuda_kernel(call, [](const Launch& where, Inputs in, Outputs out) {
    for_each(where, out[0].elements(), Assign{optional_data_of(in, 2), floats(in[1]), mutable_floats(out[0])});
  });
}

std::unique_ptr<Kernel> make_accumulation(const OpCall& call) {
  return cuda_kernel(call, [steps = call.attributes.integer("steps")](const Launch& where, Inputs in, Outputs out) {
    for_each(where, 1,
             CountSteps{steps, floats(in[1]), batch_info_of(in[0]), mutable_data_of<BatchInfo>(out[0]),
                        mutable_floats(out[1])});
  });
}

std::unique_ptr<Kernel> make_accumulate(const OpCall& call) {
  const bool weighted = call.attributes.has("weighted");
  return cuda_kernel(call,
                     [steps = call.attributes.integer("steps"), weighted](const Launch& where, Inputs in, Outputs out) {
                       const AccumulatedStep step{steps,
                                                  optional_data_of(in, weighted ? 6 : 5),
                                                  batch_info_of(in[4]),
                                                  weighted ? floats(in[5]) : nullptr,
                                                  mutable_floats(out[1]),
                                                  mutable_floats(out[2])};
                       for_each(where, out[0].elements(), Accumulate{step, floats(in[3]), mutable_floats(out[0])});
                       for_each(where, 1, AccumulateRows{step});
                     });
}

std::unique_ptr<Kernel> make_average(const OpCall& call) {
  const auto decay = call.attributes.number("decay");
  const auto keep = static_cast<float>(decay), add = static_cast<float>(1.0 - decay);
  return cuda_kernel(call, [keep, add](const Launch& where, Inputs in, Outputs out) {
    const auto* flag = optional_data_of(in, 4);
    auto* begun = mutable_floats(out[1]);
    for_each(where, out[0].elements(),
             Average{flag, begun, floats(in[2]), floats(in[3]), mutable_floats(out[0]), keep, add});
    for_each(where, 1, Begin{begun});
  });
}

}  // namespace troupe::cuda
