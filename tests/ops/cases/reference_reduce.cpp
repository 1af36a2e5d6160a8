#include <algorithm>

#include "troupe/tests/ops/cases/reference.hpp"

namespace troupe::ops_test::reference {

namespace {

using Axes = std::vector<std::int64_t>;

/// Sizes, or an index, without the entries of the axes.
Sizes without(const Sizes& sizes, const Axes& axes) {
  Sizes kept;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis)
    if (std::count(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) == 0) kept.push_back(sizes[axis]);
  return kept;
}

double count_of(const Sizes& sizes, const Axes& axes) {
  double count = 1.0;
  for (auto axis : axes) count *= static_cast<double>(sizes[static_cast<std::size_t>(axis)]);
  return count;
}

Reference reduce(const Axes& axes, bool mean) {
  const auto target = [axes](const Sizes& sizes, std::int64_t i) {
    return static_cast<std::size_t>(flat_of(without(sizes, axes), without(index_of(sizes, i), axes)));
  };
  const auto forward = [=](const Arrays& in) {
    Array y(without(in[0].sizes, axes));
    for (std::int64_t i = 0; i < in[0].elements(); ++i)
      y.data[target(in[0].sizes, i)] += in[0].data[static_cast<std::size_t>(i)];
    if (mean)
      for (auto& element : y.data) element /= count_of(in[0].sizes, axes);
    return Arrays{y};
  };
  const auto backward = [=](const Arrays& in, const Array& dy) {
    Array dx(in[0].sizes);
    const auto divisor = mean ? count_of(in[0].sizes, axes) : 1.0;
    for (std::int64_t i = 0; i < dx.elements(); ++i)
      dx.data[static_cast<std::size_t>(i)] = dy.data[target(in[0].sizes, i)] / divisor;
    return Arrays{dx};
  };
  return {forward, backward};
}

}  // namespace

Reference reduce_sum(Axes axes) {
  return reduce(axes, false);
}
Reference reduce_mean(Axes axes) {
  return reduce(axes, true);
}

// Element 1 of the batch info is the number of rows of the whole batch.
Reference batch_mean() {
  const auto forward = [](const Arrays& in) {
    Array y(Sizes{});
    for (auto element : in[0].data) y.data[0] += element / in[1].data[1];
    return Arrays{y};
  };
  const auto backward = [](const Arrays& in, const Array& dy) {
    Array dx(in[0].sizes);
    std::fill(dx.data.begin(), dx.data.end(), dy.data[0] / in[1].data[1]);
    return Arrays{dx, {}};
  };
  return {forward, backward};
}

}  // namespace troupe::ops_test::reference
