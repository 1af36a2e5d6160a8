#include <algorithm>

#include "troupe/ops/core/shape.hpp"
#include "troupe/tests/ops/cases/reference.hpp"

namespace troupe::ops_test::reference {

namespace {

Sizes broadcast_sizes(const Sizes& a, const Sizes& b) {
  Sizes result(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto from_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const auto from_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    result[result.size() - 1 - i] = from_a == 1 ? from_b : from_a;
  }
  return result;
}

/// The element of an operand of `sizes` that is read for the element `index` of the result.
std::size_t stretched(const Sizes& sizes, const Sizes& index) {
  const auto missing = index.size() - sizes.size();
  std::int64_t flat = 0;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis)
    flat = flat * sizes[axis] + (sizes[axis] == 1 ? 0 : index[missing + axis]);
  return static_cast<std::size_t>(flat);
}

using Scalar = double (*)(double a, double b);

/// An element-wise op of two operands with numpy's broadcasting, and its derivatives with respect to each.
Reference binary(Scalar f, Scalar by_a, Scalar by_b) {
  const auto walk = [](const Arrays& in, auto visit) {
    const auto sizes = broadcast_sizes(in[0].sizes, in[1].sizes);
    for (std::int64_t i = 0; i < product(sizes); ++i) {
      const auto index = index_of(sizes, i);
      visit(static_cast<std::size_t>(i), stretched(in[0].sizes, index), stretched(in[1].sizes, index));
    }
  };
  const auto forward = [=](const Arrays& in) {
    Array y(broadcast_sizes(in[0].sizes, in[1].sizes));
    walk(in, [&](auto i, auto a, auto b) { y.data[i] = f(in[0].data[a], in[1].data[b]); });
    return Arrays{y};
  };
  const auto backward = [=](const Arrays& in, const Array& dy) {
    Array da(in[0].sizes), db(in[1].sizes);
    walk(in, [&](auto i, auto a, auto b) {
      da.data[a] += dy.data[i] * by_a(in[0].data[a], in[1].data[b]);
      db.data[b] += dy.data[i] * by_b(in[0].data[a], in[1].data[b]);
    });
    return Arrays{da, db};
  };
  return {forward, backward};
}

/// An element-wise op of one operand, and its derivative.
Reference unary(std::function<double(double)> f, std::function<double(double)> derivative) {
  const auto forward = [=](const Arrays& in) {
    Array y(in[0].sizes);
    std::transform(in[0].data.begin(), in[0].data.end(), y.data.begin(), f);
    return Arrays{y};
  };
  const auto backward = [=](const Arrays& in, const Array& dy) {
    Array dx(in[0].sizes);
    for (std::size_t i = 0; i < dx.data.size(); ++i) dx.data[i] = dy.data[i] * derivative(in[0].data[i]);
    return Arrays{dx};
  };
  return {forward, backward};
}

double zero_or_one(double x) {
  return x > 0.0 ? 1.0 : 0.0;
}

Sizes with_rows_of(Sizes target, const Array& x) {
  if (!target.empty() && target[0] == kBatch) target[0] = x.sizes[0];
  return target;
}

}  // namespace

Reference add() {
  const Scalar one = [](double, double) { return 1.0; };
  return binary([](double a, double b) { return a + b; }, one, one);
}

Reference sub() {
  return binary([](double a, double b) { return a - b; }, [](double, double) { return 1.0; },
                [](double, double) { return -1.0; });
}

Reference mul() {
  return binary([](double a, double b) { return a * b; }, [](double, double b) { return b; },
                [](double a, double) { return a; });
}

Reference div() {
  return binary([](double a, double b) { return a / b; }, [](double, double b) { return 1.0 / b; },
                [](double a, double b) { return -a / (b * b); });
}

Reference square() {
  return unary([](double x) { return x * x; }, [](double x) { return 2.0 * x; });
}

Reference scale(double factor) {
  return unary([factor](double x) { return factor * x; }, [factor](double) { return factor; });
}

Reference relu() {
  return unary([](double x) { return x * zero_or_one(x); }, zero_or_one);
}

Reference identity() {
  return {[](const Arrays& in) { return in; }, [](const Arrays&, const Array& dy) { return Arrays{dy}; }};
}

Reference one() {
  const auto forward = [](const Arrays&) {
    Array y(Sizes{});
    y.data[0] = 1.0;
    return Arrays{y};
  };
  return {forward, nullptr};
}

Reference at_least(double threshold) {
  const auto forward = [threshold](const Arrays& in) {
    auto y = in[0];
    for (auto& element : y.data) element = element < threshold ? 0.0 : 1.0;
    return Arrays{y};
  };
  return {forward, nullptr};
}

Reference at_most(double threshold) {
  const auto forward = [threshold](const Arrays& in) {
    auto y = in[0];
    for (auto& element : y.data) element = element <= threshold ? 1.0 : 0.0;
    return Arrays{y};
  };
  return {forward, nullptr};
}

Reference largest_magnitude() {
  const auto forward = [](const Arrays& in) {
    Array y(Sizes{});
    bool has_nan = false;
    for (const auto& array : in)
      for (const auto element : array.data) {
        has_nan = has_nan || std::isnan(element);
        y.data[0] = std::max(y.data[0], std::abs(element));
      }
    if (has_nan) y.data[0] = std::numeric_limits<double>::quiet_NaN();
    return Arrays{y};
  };
  return {forward, nullptr};
}

Reference reshape(Sizes target) {
  const auto forward = [target](const Arrays& in) {
    auto y = in[0];
    y.sizes = with_rows_of(target, in[0]);
    return Arrays{y};
  };
  const auto backward = [](const Arrays& in, const Array& dy) {
    auto dx = dy;
    dx.sizes = in[0].sizes;
    return Arrays{dx};
  };
  return {forward, backward};
}

Reference view_at(std::int64_t offset, Sizes target) {
  const auto forward = [offset, target](const Arrays& in) {
    Array y(target);
    std::copy_n(in[0].data.begin() + offset, y.elements(), y.data.begin());
    return Arrays{y};
  };
  return {forward, nullptr};
}

}  // namespace troupe::ops_test::reference
