#include <algorithm>
#include <limits>
#include <vector>

#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/cpu/block_sums.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/lanes.hpp"
#include "troupe/ops/cpu/walk.hpp"

namespace troupe::cpu {

namespace {

/// A Walk over the elements of the input of a reduction. The only array of the Walk is the result, which has the stride
/// 0 along reduced axes.
Walk reduction(const OpCall& call) {
  const auto& shape = call.inputs[0].shape;
  const auto& summed = call.attributes.list("axes");
  std::vector<Walk::Axis> axes;
  std::int64_t stride = 1;
  for (std::size_t axis = shape.rank(); axis-- > 0;) {
    const bool is_summed = std::ranges::find(summed, static_cast<std::int64_t>(axis)) != summed.end();
    axes.push_back({shape[axis], {is_summed ? 0 : stride}});
    if (!is_summed) stride *= shape[axis];
  }
  return Walk(axes);
}

TROUPE_SIMD_CLONES void add_to(std::int64_t n, const float* x, float* sum) {
  for (std::int64_t i = 0; i < n; ++i) sum[i] += x[i];
}

TROUPE_SIMD_CLONES float sum_of(std::int64_t n, const float* x) {
  return lane_sum(n, [x](std::int64_t i) { return x[i]; });
}

/// The two loops of a reduction to an extreme: `all` combines n elements with `result` and returns the new result, and
/// `each` combines element i of n elements with results[i].
struct Combine {
  float (*all)(std::int64_t n, const float* x, float result);
  void (*each)(std::int64_t n, const float* x, float* results);
};

float smaller(float a, float b) {
  return b < a || b != b ? b : a;
}

template <float (*f)(float, float)>
constexpr Combine kExtreme{[](std::int64_t n, const float* x, float result) {
                             for (std::int64_t i = 0; i < n; ++i) result = f(result, x[i]);
                             return result;
                           },
                           [](std::int64_t n, const float* x, float* results) {
                             for (std::int64_t i = 0; i < n; ++i) results[i] = f(results[i], x[i]);
                           }};

/// Sets the results to `initial`, then combines every element of x with its result.
void reduce(const Walk& walk, const Combine& combine, float initial, const Tensor& x, const Tensor& results) {
  auto* y = mutable_floats(results);
  std::fill_n(y, results.elements(), initial);
  walk.for_each_run([&](std::int64_t at, const Walk::Numbers& to) {
    if (walk.steps()[0] == 0)
      y[to[0]] = combine.all(walk.run_length(), floats(x) + at, y[to[0]]);
    else
      combine.each(walk.run_length(), floats(x) + at, y + to[0]);
  });
}

/// A sum over the axes of a reduction. A block of sums has as many runs as results need, so that adding it to the
/// results costs at most one addition for each element of x.
class SumReduction {
 public:
  explicit SumReduction(const OpCall& call)
      : walk_(reduction(call)),
        sums_(call.outputs[0].shape.elements(), walk_.runs(),
              std::max(BlockSums::kRowsOfBlock, call.outputs[0].shape.elements() / walk_.run_length())) {}

  void run(const Tensor& x, const Tensor& results) {
    sums_.begin(mutable_floats(results));
    walk_.for_each_run([&](std::int64_t at, const Walk::Numbers& to) {
      auto* y = sums_.next_row() + to[0];
      if (walk_.steps()[0] == 0)
        *y += sum_of(walk_.run_length(), floats(x) + at);
      else
        add_to(walk_.run_length(), floats(x) + at, y);
    });
    sums_.finish();
  }

 private:
  Walk walk_;
  BlockSums sums_;
};

std::unique_ptr<Kernel> extreme_kernel(const OpCall& call, const Combine& combine, float initial) {
  return function_kernel([walk = reduction(call), combine, initial](Inputs in, Outputs out) {
    reduce(walk, combine, initial, in[0], out[0]);
  });
}

/// Calls visit(index of the element, index of its result) for all elements in order.
template <class Visit>
void for_each_element(const Walk& walk, Visit visit) {
  walk.for_each_run([&](std::int64_t at, const Walk::Numbers& to) {
    for (std::int64_t i = 0; i < walk.run_length(); ++i) visit(at + i, to[0] + i * walk.steps()[0]);
  });
}

}  // namespace

std::unique_ptr<Kernel> make_reduce_sum(const OpCall& call) {
  return function_kernel([sum = SumReduction(call)](Inputs in, Outputs out) mutable { sum.run(in[0], out[0]); });
}

std::unique_ptr<Kernel> make_reduce_mean(const OpCall& call) {
  const auto count = call.inputs[0].shape.elements() / call.outputs[0].shape.elements();
  return function_kernel([sum = SumReduction(call), count](Inputs in, Outputs out) mutable {
    sum.run(in[0], out[0]);
    for (auto& element : out[0].mutable_data<float>()) element /= static_cast<float>(count);
  });
}

std::unique_ptr<Kernel> make_reduce_max(const OpCall& call) {
  return extreme_kernel(call, kExtreme<larger>, -std::numeric_limits<float>::infinity());
}

std::unique_ptr<Kernel> make_reduce_min(const OpCall& call) {
  return extreme_kernel(call, kExtreme<smaller>, std::numeric_limits<float>::infinity());
}

std::unique_ptr<Kernel> make_reduce_variance(const OpCall& call) {
  const auto results = static_cast<std::size_t>(call.outputs[0].shape.elements());
  const auto count = static_cast<double>(call.inputs[0].shape.elements()) / static_cast<double>(results);
  return function_kernel([walk = reduction(call), count, results, means = std::vector<double>(results),
                          squares = std::vector<double>(results)](Inputs in, Outputs out) mutable {
    const auto* x = floats(in[0]);
    std::ranges::fill(means, 0.0);
    std::ranges::fill(squares, 0.0);
    for_each_element(walk, [&](auto i, auto at) { means[at] += x[i]; });
    for (auto& mean : means) mean /= count;
    for_each_element(walk, [&](auto i, auto at) { squares[at] += (x[i] - means[at]) * (x[i] - means[at]); });
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
