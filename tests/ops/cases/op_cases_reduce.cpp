#include "troupe/ops/reduce.hpp"
#include "troupe/tests/ops/cases/op_cases.hpp"

namespace troupe::ops_test {

namespace {

using Axes = std::vector<std::int64_t>;

/// Every set of axes of that rank, the empty one included.
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
  cases.push_back(mean_case({1}, {0}));
  cases.push_back({"batch_mean",
                   {{{kBatch}}, batch_info()},
                   [](const Values& x) { return Values{batch_mean(x[0], x[1])}; },
                   reference::batch_mean()});
  return cases;
}

}  // namespace troupe::ops_test
