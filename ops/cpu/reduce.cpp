#include <algorithm>
#include <cstring>
#include <vector>

#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/loop_kernel.hpp"
#include "troupe/ops/data/batch_info.hpp"

namespace troupe::cpu {

namespace {

/// Axes of the input, neighbours of one kind merged: kept and summed ones alternate.
struct Reduction {
  struct Axis {
    std::int64_t size;
    bool summed;
    std::int64_t output_stride;
  };
  std::vector<Axis> axes;
  std::int64_t runs = 1;
};

Reduction plan_reduction(const OpCall& call) {
  const auto& shape = call.inputs[0].shape;
  const auto& summed = call.attributes.list("axes");
  Reduction plan;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    const bool is_summed = std::find(summed.begin(), summed.end(), static_cast<std::int64_t>(axis)) != summed.end();
    if (!plan.axes.empty() && plan.axes.back().summed == is_summed)
      plan.axes.back().size *= shape[axis];
    else
      plan.axes.push_back({shape[axis], is_summed, 0});
  }
  if (plan.axes.empty()) plan.axes.push_back({1, false, 0});
  std::int64_t stride = 1;
  for (auto axis = plan.axes.rbegin(); axis != plan.axes.rend(); ++axis) {
    if (axis->summed) continue;
    axis->output_stride = stride;
    stride *= axis->size;
  }
  for (std::size_t i = 0; i + 1 < plan.axes.size(); ++i) plan.runs *= plan.axes[i].size;
  return plan;
}

TROUPE_SIMD_CLONES void add_to(std::int64_t n, const float* x, float* sum) {
  for (std::int64_t i = 0; i < n; ++i) sum[i] += x[i];
}

// Sixteen partial sums in a fixed order: the same bits for every vector width.
TROUPE_SIMD_CLONES float sum_of(std::int64_t n, const float* x) {
  constexpr int kLanes = 16;
  float lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += x[i + lane];
  for (int lane = 0; i < n; ++i, ++lane) lanes[lane] += x[i];
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  return lanes[0];
}

void reduce(const Reduction& plan, const float* x, float* y) {
  const auto& inner = plan.axes.back();
  std::vector<std::int64_t> index(plan.axes.size(), 0);
  std::int64_t at = 0;
  for (std::int64_t run = 0; run < plan.runs; ++run, x += inner.size) {
    if (inner.summed)
      y[at] += sum_of(inner.size, x);
    else
      add_to(inner.size, x, y + at);
    for (std::size_t axis = plan.axes.size() - 1; axis-- > 0;) {
      at += plan.axes[axis].output_stride;
      if (++index[axis] < plan.axes[axis].size) break;
      at -= plan.axes[axis].output_stride * index[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

std::unique_ptr<Kernel> make_reduce_sum(const OpCall& call) {
  return loop_kernel([plan = plan_reduction(call)](Inputs in, Outputs out) {
    std::memset(out[0].address(), 0, out[0].bytes());
    reduce(plan, floats(in[0]), mutable_floats(out[0]));
  });
}

std::unique_ptr<Kernel> make_reduce_mean(const OpCall& call) {
  const auto count = call.inputs[0].shape.elements() / call.outputs[0].shape.elements();
  return loop_kernel([plan = plan_reduction(call), count](Inputs in, Outputs out) {
    std::memset(out[0].address(), 0, out[0].bytes());
    reduce(plan, floats(in[0]), mutable_floats(out[0]));
    for (auto& element : out[0].mutable_data<float>()) element /= static_cast<float>(count);
  });
}

std::unique_ptr<Kernel> make_batch_mean(const OpCall&) {
  return loop_kernel([](Inputs in, Outputs out) {
    const auto global_rows = BatchInfo::read(in[1]).global_rows;
    out[0].mutable_data<float>()[0] = sum_of(in[0].elements(), floats(in[0])) / static_cast<float>(global_rows);
  });
}

std::unique_ptr<Kernel> make_batch_mean_grad(const OpCall&) {
  return loop_kernel([](Inputs in, Outputs out) {
    const auto global_rows = BatchInfo::read(in[1]).global_rows;
    const auto row_gradient = in[0].data<float>()[0] / static_cast<float>(global_rows);
    for (auto& element : out[0].mutable_data<float>()) element = row_gradient;
  });
}

}  // namespace troupe::cpu
