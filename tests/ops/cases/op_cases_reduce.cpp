#include <algorithm>
#include <numeric>

#include "troupe/ops/library/reduce.hpp"
#include "troupe/tests/ops/cases/op_cases.hpp"

namespace troupe::ops_test {

namespace {

using Axes = std::vector<std::int64_t>;

/// All sets of axes of a shape of the rank, including the empty one.
std::vector<Axes> subsets(std::int64_t rank) {
  std::vector<Axes> all;
  for (int bits = 0; bits < (1 << rank); ++bits) {
    Axes axes;
    for (std::int64_t axis = 0; axis < rank; ++axis)
      if ((bits >> axis & 1) != 0) axes.push_back(axis);
    all.push_back(axes);
  }
  return all;
}

std::string text_of(const Axes& axes) {
  return to_string(Shape(axes));
}

OpCase sum_case(const Shape& shape, const Axes& axes) {
  return {"reduce_sum " + to_string(shape) + " over " + text_of(axes),
          {{shape}},
          [axes](const Values& x) { return Values{reduce_sum(x[0], axes)}; },
          reference::reduce_sum(axes)};
}

OpCase mean_case(const Shape& shape, const Axes& axes) {
  return {"reduce_mean " + to_string(shape) + " over " + text_of(axes),
          {{shape}},
          [axes](const Values& x) { return Values{reduce_mean(x[0], axes)}; },
          reference::reduce_mean(axes)};
}

/// A reduction that refuses the axis of the batch.
struct WithinRows {
  const char* name;
  Value (*op)(Value, std::span<const std::int64_t>);
  double (*reference)(const std::vector<double>&);
};

double variance_of(const std::vector<double>& elements) {
  const auto count = static_cast<double>(elements.size());
  const auto mean = std::accumulate(elements.begin(), elements.end(), 0.0) / count;
  double squares = 0.0;
  for (const auto element : elements) squares += (element - mean) * (element - mean);
  return squares / count;
}

const WithinRows kWithinRows[] = {
    {"reduce_max", reduce_max, [](const std::vector<double>& e) { return *std::ranges::max_element(e); }},
    {"reduce_min", reduce_min, [](const std::vector<double>& e) { return *std::ranges::min_element(e); }},
    {"reduce_variance", reduce_variance, variance_of},
};

OpCase within_rows_case(const WithinRows& op, const Shape& shape, const Axes& axes) {
  const auto is_kept = [axes](std::size_t axis) {
    return std::ranges::count(axes, static_cast<std::int64_t>(axis)) == 0;
  };
  const auto kept_of = [is_kept](const Sizes& sizes) {
    Sizes kept;
    for (std::size_t axis = 0; axis < sizes.size(); ++axis)
      if (is_kept(axis)) kept.push_back(sizes[axis]);
    return kept;
  };
  const auto forward = [kept_of, reduce = op.reference](const Arrays& in) {
    Array y(kept_of(in[0].sizes));
    std::vector<std::vector<double>> elements(y.data.size());
    for (std::int64_t i = 0; i < in[0].elements(); ++i)
      elements[static_cast<std::size_t>(flat_of(y.sizes, kept_of(index_of(in[0].sizes, i))))].push_back(
          in[0].data[static_cast<std::size_t>(i)]);
    std::ranges::transform(elements, y.data.begin(), reduce);
    return Arrays{y};
  };
  return forward_case(
      std::string(op.name) + " " + to_string(shape) + " over " + text_of(axes), {{shape, Draw::distinct}},
      [axes, reduce = op.op](const Values& x) { return Values{reduce(x[0], axes)}; }, forward);
}

}  // namespace

std::vector<OpCase> reduce_cases() {
  std::vector<OpCase> cases;
  for (const auto& shape : {Shape{kBatch, 3, 37}, Shape{5, 1, 4}, Shape{kBatch, 4, 1, 3}, Shape{2, 3, 4, 5}}) {
    for (const auto& axes : subsets(static_cast<std::int64_t>(shape.rank()))) {
      cases.push_back(sum_case(shape, axes));
      if (!shape.has_batch() || axes.empty() || axes[0] != 0) cases.push_back(mean_case(shape, axes));
    }
  }
  cases.push_back(sum_case({3, 4, 5}, {2, 0}));
  cases.push_back(sum_case({kBatch}, {0}));
  cases.push_back(sum_case({kBatch, 1000}, {1}));
  cases.push_back(sum_case({0, 3}, {0}));
  cases.push_back(sum_case({500, 70}, {0}));
  cases.push_back(sum_case({2000, 33}, {0}));
  cases.push_back(mean_case({1}, {0}));
  for (const auto& op : kWithinRows)
    for (const auto& shape : {Shape{kBatch, 3, 4}, Shape{3, 2, 5}})
      for (const auto& axes : subsets(3))
        if (!shape.has_batch() || axes.empty() || axes[0] != 0) cases.push_back(within_rows_case(op, shape, axes));
  for (const auto& shape : {Shape{kBatch, 1}, Shape{1, 5}, Shape{kBatch, 5}})
    cases.push_back(forward_case(
        "broadcast_to from " + to_string(shape), {{shape}, {{kBatch, 5}, Draw::uniform, false}},
        [](const Values& x) { return Values{broadcast_to(x[0], x[1])}; },
        [](const Arrays& in) {
          Array y(in[1].sizes);
          const auto& from = in[0].sizes;
          for (std::int64_t i = 0; i < y.elements(); ++i) {
            const auto at = index_of(y.sizes, i);
            y.data[static_cast<std::size_t>(i)] = in[0].at({from[0] == 1 ? 0 : at[0], from[1] == 1 ? 0 : at[1]});
          }
          return Arrays{y};
        }));
  cases.push_back({"batch_mean",
                   {{{kBatch}}, batch_info()},
                   [](const Values& x) { return Values{batch_mean(x[0], x[1])}; },
                   reference::batch_mean()});
  return cases;
}

}  // namespace troupe::ops_test
