// The steps of random programs that compute functions, move elements, normalize, select and attend.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "troupe/ops/library/activation.hpp"
#include "troupe/ops/library/attention.hpp"
#include "troupe/ops/library/compare.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/gather.hpp"
#include "troupe/ops/library/logsumexp.hpp"
#include "troupe/ops/library/math.hpp"
#include "troupe/ops/library/norm.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/slice.hpp"
#include "troupe/ops/library/top_k.hpp"
#include "troupe/ops/library/transpose.hpp"
#include "troupe/tests/ops/cases/reference.hpp"
#include "troupe/tests/ops/graph/random_graph.hpp"

namespace troupe::ops_test {

namespace {

/// A function of one number, as an op and in double precision.
struct Function {
  Value (*op)(Value);
  double (*compute)(double);
};

const Function kFunctions[] = {
    {tanh, std::tanh},
    {sigmoid, reference::sigmoid},
    {gelu, [](double x) { return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0))); }},
    {gelu_tanh, reference::gelu_tanh},
    {silu, [](double x) { return x * reference::sigmoid(x); }},
    {softplus, [](double x) { return std::log1p(std::exp(x)); }},
    {exp, std::exp},
    {abs, [](double x) { return std::abs(x); }},
    {[](Value x) { return log(add(mul(x, x), x.builder().constant(Tensor::scalar(1.0F)))); },
     [](double x) { return std::log(x * x + 1.0); }},
    {[](Value x) { return sqrt(x * x + 0.5); }, [](double x) { return std::sqrt(x * x + 0.5); }},
    {[](Value x) { return rsqrt(x * x + 0.5); }, [](double x) { return 1.0 / std::sqrt(x * x + 0.5); }},
    {[](Value x) { return x / (x * x + 1.0); }, [](double x) { return x / (x * x + 1.0); }},
    {[](Value x) { return pow(x, 2.0); }, [](double x) { return x * x; }},
    {[](Value x) { return clip(x, -0.5, 0.75); }, [](double x) { return std::clamp(x, -0.5, 0.75); }},
};

/// Calls f with the places in the array of the elements along its last axis, line by line.
void for_each_row(const Array& x, const std::function<void(std::size_t begin, std::size_t width)>& f) {
  const auto width = static_cast<std::size_t>(x.sizes.back());
  for (std::size_t begin = 0; begin < x.data.size(); begin += width) f(begin, width);
}

/// A number for every row, without the last axis.
Array reduced_rows(const Array& x, double (*reduce)(const double* row, std::size_t width)) {
  Array y(Sizes(x.sizes.begin(), x.sizes.end() - 1));
  std::size_t row = 0;
  for_each_row(x, [&](auto begin, auto width) { y.data[row++] = reduce(x.data.data() + begin, width); });
  return y;
}

double variance_of(const double* row, std::size_t width) {
  double mean = 0.0, squares = 0.0;
  for (std::size_t i = 0; i < width; ++i) mean += row[i] / static_cast<double>(width);
  for (std::size_t i = 0; i < width; ++i) squares += (row[i] - mean) * (row[i] - mean);
  return squares / static_cast<double>(width);
}

double logsumexp_of(const double* row, std::size_t width) {
  double sum = 0.0;
  for (std::size_t i = 0; i < width; ++i) sum += std::exp(row[i]);
  return std::log(sum);
}

}  // namespace

void RandomGraph::add_math() {
  const auto x = any_item();
  if (!differentiable_item(x)) return;
  const auto& [op, compute] = kFunctions[below(std::size(kFunctions))];
  add_step({.inputs = {x},
            .build = [f = op](const auto& v) { return f(v[0]); },
            .compute =
                [f = compute](const Arrays& in) {
                  auto y = in[0];
                  std::ranges::transform(y.data, y.data.begin(), f);
                  return y;
                }},
           shape_of(x));
}

void RandomGraph::add_moving() {
  const auto x = any_item();
  const auto shape = shape_of(x);
  if (!differentiable_item(x) || shape.rank() < 2 || shape.back(0) < 2) return;
  const auto width = shape.back(0), last = static_cast<std::int64_t>(shape.rank()) - 1;
  auto sizes = shape.list();
  const auto kind = below(4);
  // `from` maps an index in the row of the result to the index in the row of x that it comes from, or to -1 for a 0.
  std::function<std::int64_t(std::int64_t)> from;
  std::function<Value(const std::vector<Value>&)> build;
  if (kind == 0) {
    sizes.back() = width - 1;
    from = [](std::int64_t i) { return i + 1; };
    build = [=](const auto& v) { return slice(v[0], last, 1, width - 1); };
  } else if (kind == 1) {
    sizes.back() = width + 3;
    from = [=](std::int64_t i) { return i >= 1 && i <= width ? i - 1 : -1; };
    std::vector<std::int64_t> before(shape.rank(), 0), after(shape.rank(), 0);
    before.back() = 1;
    after.back() = 2;
    build = [=](const auto& v) { return pad(v[0], before, after); };
  } else if (kind == 2) {
    sizes.back() = 2 * width - 1;
    from = [=](std::int64_t i) { return i < width ? i : i - width + 1; };
    build = [=](const auto& v) { return concat(std::vector{v[0], slice(v[0], last, 1, width - 1)}, last); };
  } else {
    const auto order = last == 2 ? std::vector<std::int64_t>{0, 2, 1} : std::vector<std::int64_t>{0, 1};
    if (last != 2) return;
    add_step({.inputs = {x},
              .build = [order](const auto& v) { return transpose(v[0], order); },
              .compute =
                  [](const Arrays& in) {
                    Array y({in[0].sizes[0], in[0].sizes[2], in[0].sizes[1]});
                    for (std::int64_t i = 0; i < y.elements(); ++i) {
                      const auto at = index_of(y.sizes, i);
                      y.data[static_cast<std::size_t>(i)] = in[0].at({at[0], at[2], at[1]});
                    }
                    return y;
                  }},
             {shape[0], shape[2], shape[1]});
    return;
  }
  const auto result_width = sizes.back();
  add_step({.inputs = {x},
            .build = build,
            .compute =
                [=](const Arrays& in) {
                  auto of_result = in[0].sizes;
                  of_result.back() = result_width;
                  Array y(of_result);
                  for (std::int64_t i = 0; i < y.elements(); ++i) {
                    const auto place = from(i % result_width);
                    if (place >= 0)
                      y.data[static_cast<std::size_t>(i)] =
                          in[0].data[static_cast<std::size_t>(i / result_width * width + place)];
                  }
                  return y;
                }},
           Shape(sizes));
}

void RandomGraph::add_norm() {
  const auto x = any_item();
  const auto shape = shape_of(x);
  if (!differentiable_item(x) || shape.rank() < 2 || shape.back(0) < 2) return;
  const auto factor = add_source({shape.back(0)}, true);
  // With a large epsilon rows of small numbers are not divided by almost zero.
  constexpr double kEpsilon = 0.25;
  add_step({.inputs = {x, factor},
            .build = [](const auto& v) { return rms_norm(v[0], v[1], kEpsilon); },
            .compute =
                [](const Arrays& in) {
                  auto y = in[0];
                  for_each_row(y, [&](auto begin, auto width) {
                    double squares = 0.0;
                    for (std::size_t i = 0; i < width; ++i) squares += y.data[begin + i] * y.data[begin + i];
                    const auto root = std::sqrt(squares / static_cast<double>(width) + kEpsilon);
                    for (std::size_t i = 0; i < width; ++i) y.data[begin + i] *= in[1].data[i] / root;
                  });
                  return y;
                }},
           shape);
}

void RandomGraph::add_selection() {
  const auto x = any_item();
  const auto shape = shape_of(x);
  if (!differentiable_item(x) || shape.rank() < 2 || shape.back(0) < 2) return;
  const auto kind = below(3);
  if (kind < 2) {
    auto sizes = shape.list();
    sizes.pop_back();
    const std::vector<std::int64_t> axes{static_cast<std::int64_t>(shape.rank()) - 1};
    const auto build = [=](const std::vector<Value>& v) {
      return kind == 0 ? reduce_variance(v[0], axes) : logsumexp(v[0]);
    };
    const auto reduce = kind == 0 ? variance_of : logsumexp_of;
    const auto compute = [=](const Arrays& in) { return reduced_rows(in[0], reduce); };
    add_step({.inputs = {x}, .build = build, .compute = compute}, Shape(sizes));
    return;
  }
  const auto build = [](const std::vector<Value>& v) {
    const auto zero = v[0].builder().constant(Tensor::scalar(0.0F));
    return where(less(v[0], zero), v[0] * 0.1,
                 cumulative_sum(v[0], static_cast<std::int64_t>(v[0].shape().rank()) - 1));
  };
  add_step({.inputs = {x},
            .build = build,
            .compute =
                [](const Arrays& in) {
                  auto y = in[0];
                  for_each_row(in[0], [&](auto begin, auto width) {
                    double sum = 0.0;
                    for (std::size_t i = 0; i < width; ++i) {
                      sum += in[0].data[begin + i];
                      y.data[begin + i] = in[0].data[begin + i] < 0.0 ? 0.1 * in[0].data[begin + i] : sum;
                    }
                  });
                  return y;
                }},
           shape);
}

/// Adds the lookup of rows of a table by random indices, and self-attention of the rows.
void RandomGraph::add_attention() {
  constexpr std::int64_t kRows = 4, kTimes = 3, kWidth = 2;
  const auto table = add_source({kRows, kWidth}, true);
  const auto places = add_source({kBatch, kTimes}, false, kRows);
  const auto build = [](const std::vector<Value>& v) {
    const auto x = gather(v[0], v[1]);
    return attention(x, x, x, {.heads = 1, .causal = true});
  };
  const auto compute = [](const Arrays& in) {
    Array y({in[1].sizes[0], kTimes, kWidth});
    const auto element = [&](std::int64_t row, std::int64_t time, std::int64_t i) {
      return in[0].at({static_cast<std::int64_t>(in[1].at({row, time})), i});
    };
    for (std::int64_t row = 0; row < y.sizes[0]; ++row)
      for (std::int64_t time = 0; time < kTimes; ++time) {
        double sum = 0.0;
        for (std::int64_t key = 0; key <= time; ++key) {
          double score = 0.0;
          for (std::int64_t i = 0; i < kWidth; ++i) score += element(row, time, i) * element(row, key, i);
          const auto weight = std::exp(score / std::sqrt(static_cast<double>(kWidth)));
          sum += weight;
          for (std::int64_t i = 0; i < kWidth; ++i) y.at({row, time, i}) += weight * element(row, key, i);
        }
        for (std::int64_t i = 0; i < kWidth; ++i) y.at({row, time, i}) /= sum;
      }
    return y;
  };
  add_step({.inputs = {table, places}, .build = build, .compute = compute}, {kBatch, kTimes, kWidth});
  items_.back().has_gradient = items_.back().source < 0 || items_.back().has_gradient;
}

}  // namespace troupe::ops_test
