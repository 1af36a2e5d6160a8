#include "troupe/tests/ops/cases/reference.hpp"

namespace troupe::ops_test::reference {

namespace {

/// A product of two matrices, plus an optional bias and relu.
struct Product {
  bool ta, tb, with_relu;

  std::int64_t m(const Arrays& in) const { return in[0].sizes[ta ? 1 : 0]; }
  std::int64_t k(const Arrays& in) const { return in[0].sizes[ta ? 0 : 1]; }
  std::int64_t n(const Arrays& in) const { return in[1].sizes[tb ? 0 : 1]; }

  /// Calls visit(row, column, a, b) for every product of two elements, with the numbers of the elements of the factors.
  template <class Visit>
  void walk(const Arrays& in, Visit visit) const {
    for (std::int64_t row = 0; row < m(in); ++row)
      for (std::int64_t column = 0; column < n(in); ++column)
        for (std::int64_t i = 0; i < k(in); ++i)
          visit(row, column, static_cast<std::size_t>(ta ? i * m(in) + row : row * k(in) + i),
                static_cast<std::size_t>(tb ? column * k(in) + i : i * n(in) + column));
  }

  Array before_relu(const Arrays& in) const {
    Array y({m(in), n(in)});
    walk(in, [&](auto row, auto column, auto a, auto b) { y.at({row, column}) += in[0].data[a] * in[1].data[b]; });
    if (in.size() == 3)
      for (std::int64_t i = 0; i < y.elements(); ++i)
        y.data[static_cast<std::size_t>(i)] += in[2].data[static_cast<std::size_t>(i % n(in))];
    return y;
  }

  Arrays forward(const Arrays& in) const {
    auto y = before_relu(in);
    return with_relu ? relu().forward({y}) : Arrays{y};
  }

  Arrays backward(const Arrays& in, Array dy) const {
    if (with_relu) dy = relu().backward({before_relu(in)}, dy)[0];
    Arrays gradients{Array(in[0].sizes), Array(in[1].sizes)};
    walk(in, [&](auto row, auto column, auto a, auto b) {
      gradients[0].data[a] += dy.at({row, column}) * in[1].data[b];
      gradients[1].data[b] += dy.at({row, column}) * in[0].data[a];
    });
    if (in.size() < 3) return gradients;
    gradients.push_back(Array(in[2].sizes));
    for (std::int64_t i = 0; i < dy.elements(); ++i)
      gradients[2].data[static_cast<std::size_t>(i % n(in))] += dy.data[static_cast<std::size_t>(i)];
    return gradients;
  }
};

}  // namespace

Reference matmul(bool transpose_a, bool transpose_b, bool with_relu) {
  const Product op{transpose_a, transpose_b, with_relu};
  return {[op](const Arrays& in) { return op.forward(in); },
          [op](const Arrays& in, const Array& dy) { return op.backward(in, dy); }};
}

}  // namespace troupe::ops_test::reference
