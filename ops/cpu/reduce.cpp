#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/lanes.hpp"

namespace troupe::cpu {

namespace {

/// The axes of the input, with neighbors of one kind merged, so that kept and summed axes alternate.
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

TROUPE_SIMD_CLONES float sum_of(std::int64_t n, const float* x) {
  return lane_sum(n, [x](std::int64_t i) { return x[i]; });
}

/// The two loops of a reduction: `all` combines n elements into one result, `each` combines n elements with one result
/// each.
struct Combine {
  float (*all)(std::int64_t n, const float* x, float result);
  void (*each)(std::int64_t n, const float* x, float* results);
};

float larger(float a, float b) {
  return b > a || b != b ? b : a;
}
float smaller(float a, float b) {
  return b < a || b != b ? b : a;
}

constexpr Combine kSum{[](std::int64_t n, const float* x, float result) { return result + sum_of(n, x); }, add_to};

template <float (*f)(float, float)>
constexpr Combine kExtreme{[](std::int64_t n, const float* x, float result) {
                             for (std::int64_t i = 0; i < n; ++i) result = f(result, x[i]);
                             return result;
                           },
                           [](std::int64_t n, const float* x, float* results) {
                             for (std::int64_t i = 0; i < n; ++i) results[i] = f(results[i], x[i]);
                           }};

void reduce(const Reduction& plan, const float* x, float* y, const Combine& combine = kSum) {
  const auto& inner = plan.axes.back();
  std::array<std::int64_t, Shape::kMaxRank> index{};
  std::int64_t at = 0;
  for (std::int64_t run = 0; run < plan.runs; ++run, x += inner.size) {
    if (inner.summed)
      y[at] = combine.all(inner.size, x, y[at]);
    else
      combine.each(inner.size, x, y + at);
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
  return function_kernel([plan = plan_reduction(call)](Inputs in, Outputs out) {
    std::memset(out[0].address(), 0, out[0].bytes());
    reduce(plan, floats(in[0]), mutable_floats(out[0]));
  });
}

std::unique_ptr<Kernel> make_reduce_mean(const OpCall& call) {
  const auto count = call.inputs[0].shape.elements() / call.outputs[0].shape.elements();
  return function_kernel([plan = plan_reduction(call), count](Inputs in, Outputs out) {
    std::memset(out[0].address(), 0, out[0].bytes());
    reduce(plan, floats(in[0]), mutable_floats(out[0]));
    for (auto& element : out[0].mutable_data<float>()) element /= static_cast<float>(count);
  });
}

namespace {

std::unique_ptr<Kernel> make_extreme(const OpCall& call, const Combine& combine, float least) {
  return function_kernel([plan = plan_reduction(call), combine, least](Inputs in, Outputs out) {
    std::ranges::fill(out[0].mutable_data<float>(), least);
    reduce(plan, floats(in[0]), mutable_floats(out[0]), combine);
  });
}

/// Calls visit(element, index of its result) for all elements in order.
template <class Visit>
void for_each_element(const Reduction& plan, std::int64_t elements, Visit visit) {
  std::array<std::int64_t, Shape::kMaxRank> index{};
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < elements; ++i) {
    visit(i, at);
    for (std::size_t axis = plan.axes.size(); axis-- > 0;) {
      at += plan.axes[axis].output_stride;
      if (++index[axis] < plan.axes[axis].size) break;
      at -= plan.axes[axis].output_stride * index[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

std::unique_ptr<Kernel> make_reduce_max(const OpCall& call) {
  return make_extreme(call, kExtreme<larger>, -std::numeric_limits<float>::infinity());
}

std::unique_ptr<Kernel> make_reduce_min(const OpCall& call) {
  return make_extreme(call, kExtreme<smaller>, std::numeric_limits<float>::infinity());
}

std::unique_ptr<Kernel> make_reduce_variance(const OpCall& call) {
  const auto results = static_cast<std::size_t>(call.outputs[0].shape.elements());
  const auto count = static_cast<double>(call.inputs[0].shape.elements()) / static_cast<double>(results);
  return function_kernel([plan = plan_reduction(call), count, results, means = std::vector<double>(results),
                          squares = std::vector<double>(results)](Inputs in, Outputs out) mutable {
    const auto* x = floats(in[0]);
    std::ranges::fill(means, 0.0);
    std::ranges::fill(squares, 0.0);
    for_each_element(plan, in[0].elements(), [&](auto i, auto at) { means[at] += x[i]; });
    for (auto& mean : means) mean /= count;
    for_each_element(plan, in[0].elements(),
                     [&](auto i, auto at) { squares[at] += (x[i] - means[at]) * (x[i] - means[at]); });
    for (std::size_t i = 0; i < results; ++i) mutable_floats(out[0])[i] = static_cast<float>(squares[i] / count);
  });
}

std::unique_ptr<Kernel> make_batch_mean(const OpCall&) {
  return function_kernel([](Inputs in, Outputs out) {
    const auto global_rows = BatchInfo::read(in[1]).global_rows;
    out[0].mutable_data<float>()[0] = sum_of(in[0].elements(), floats(in[0])) / static_cast<float>(global_rows);
  });
}

std::unique_ptr<Kernel> make_batch_mean_grad(const OpCall&) {
  return function_kernel([](Inputs in, Outputs out) {
    const auto global_rows = BatchInfo::read(in[1]).global_rows;
    const auto row_gradient = in[0].data<float>()[0] / static_cast<float>(global_rows);
    for (auto& element : out[0].mutable_data<float>()) element = row_gradient;
  });
}

}  // namespace troupe::cpu
