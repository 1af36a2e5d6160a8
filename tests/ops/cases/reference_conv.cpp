#include <array>
#include <cmath>

#include "troupe/tests/ops/cases/reference.hpp"

namespace troupe::ops_test::reference {

namespace {

/// A convolution of images [B, H, W, C] with weights [KH, KW, C / groups, O] and a bias [O].
struct Convolution {
  std::int64_t stride, padding;
  bool with_relu;
  std::int64_t groups;

  Array zero_result(const Arrays& in) const {
    const auto& x = in[0].sizes;
    const auto& w = in[1].sizes;
    return Array({x[0], (x[1] + 2 * padding - w[0]) / stride + 1, (x[2] + 2 * padding - w[1]) / stride + 1, w[3]});
  }

  /// Calls visit(i, x, w) for every product of two elements, with the numbers of the elements of the result, of the
  /// images and of the weights.
  template <class Visit>
  void walk(const Arrays& in, const Sizes& y, Visit visit) const {
    std::vector<Sizes> places;
    for (std::int64_t j = 0; j < product(in[1].sizes); j += y[3]) places.push_back(index_of(in[1].sizes, j));
    for (std::int64_t i = 0; i < product(y); ++i) {
      const auto at = index_of(y, i);
      for (std::size_t number = 0; number < places.size(); ++number) {
        const auto& w = places[number];
        const auto j = static_cast<std::int64_t>(number) * y[3];
        const auto row = at[1] * stride - padding + w[0];
        const auto column = at[2] * stride - padding + w[1];
        if (row < 0 || row >= in[0].sizes[1] || column < 0 || column >= in[0].sizes[2]) continue;
        const auto channel = at[3] / (y[3] / groups) * in[1].sizes[2] + w[2];
        visit(static_cast<std::size_t>(i),
              static_cast<std::size_t>(flat_of(in[0].sizes, std::array{at[0], row, column, channel})),
              static_cast<std::size_t>(j + at[3]));
      }
    }
  }

  Array before_relu(const Arrays& in) const {
    auto y = zero_result(in);
    walk(in, y.sizes, [&](auto i, auto x, auto w) { y.data[i] += in[0].data[x] * in[1].data[w]; });
    if (in.size() == 3)
      for (std::size_t i = 0; i < y.data.size(); ++i) y.data[i] += in[2].data[i % in[2].data.size()];
    return y;
  }

  Arrays forward(const Arrays& in) const {
    auto y = before_relu(in);
    return with_relu ? relu().forward({y}) : Arrays{y};
  }

  Arrays backward(const Arrays& in, Array dy) const {
    if (with_relu) dy = relu().backward({before_relu(in)}, dy)[0];
    Arrays gradients{Array(in[0].sizes), Array(in[1].sizes)};
    walk(in, dy.sizes, [&](auto i, auto x, auto w) {
      gradients[0].data[x] += dy.data[i] * in[1].data[w];
      gradients[1].data[w] += dy.data[i] * in[0].data[x];
    });
    if (in.size() < 3) return gradients;
    gradients.push_back(Array(in[2].sizes));
    for (std::size_t i = 0; i < dy.data.size(); ++i) gradients[2].data[i % in[2].data.size()] += dy.data[i];
    return gradients;
  }
};

/// Max pooling of images [B, H, W, C].
struct Pooling {
  std::int64_t kernel_size, stride, padding;

  static bool replaces(double element, double best) {
    return element > best || (std::isnan(element) && !std::isnan(best));
  }

  Array zero_result(const Array& x) const {
    const auto size = [this](std::int64_t length) { return (length + 2 * padding - kernel_size) / stride + 1; };
    return Array({x.sizes[0], size(x.sizes[1]), size(x.sizes[2]), x.sizes[3]});
  }

  /// The number of the first largest element in the window of the result's element at index `at`, or of the first NaN.
  /// Elements outside the image do not count.
  std::size_t place(const Array& x, const Sizes& at) const {
    std::int64_t best = -1;
    for (auto i = at[1] * stride - padding; i < at[1] * stride - padding + kernel_size; ++i) {
      for (auto j = at[2] * stride - padding; j < at[2] * stride - padding + kernel_size; ++j) {
        if (i < 0 || i >= x.sizes[1] || j < 0 || j >= x.sizes[2]) continue;
        const auto here = flat_of(x.sizes, std::array{at[0], i, j, at[3]});
        if (best < 0 || replaces(x.data[static_cast<std::size_t>(here)], x.data[static_cast<std::size_t>(best)]))
          best = here;
      }
    }
    return static_cast<std::size_t>(best);
  }

  Arrays forward(const Array& x) const {
    auto y = zero_result(x);
    for (std::int64_t i = 0; i < y.elements(); ++i)
      y.data[static_cast<std::size_t>(i)] = x.data[place(x, index_of(y.sizes, i))];
    return {y};
  }

  Arrays backward(const Array& x, const Array& dy) const {
    Array dx(x.sizes);
    for (std::int64_t i = 0; i < dy.elements(); ++i)
      dx.data[place(x, index_of(dy.sizes, i))] += dy.data[static_cast<std::size_t>(i)];
    return {dx};
  }
};

}  // namespace

Reference conv2d(std::int64_t stride, std::int64_t padding, bool with_relu, std::int64_t groups) {
  const Convolution op{stride, padding, with_relu, groups};
  return {[op](const Arrays& in) { return op.forward(in); },
          [op](const Arrays& in, const Array& dy) { return op.backward(in, dy); }};
}

Reference max_pool(std::int64_t kernel_size, std::int64_t stride, std::int64_t padding) {
  const Pooling op{kernel_size, stride, padding};
  return {[op](const Arrays& in) { return op.forward(in[0]); },
          [op](const Arrays& in, const Array& dy) { return op.backward(in[0], dy); }};
}

}  // namespace troupe::ops_test::reference
