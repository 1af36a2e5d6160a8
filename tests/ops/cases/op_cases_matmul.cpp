#include <algorithm>
#include <cmath>

#include "troupe/ops/fused/finite.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/tests/ops/cases/op_cases.hpp"

namespace troupe::ops_test {

namespace {

OpCase product_case(const Shape& a, const Shape& b, bool ta, bool tb) {
  const MatmulOptions options{.transpose_a = ta, .transpose_b = tb};
  return {"matmul " + to_string(a) + (ta ? "' " : " ") + to_string(b) + (tb ? "'" : ""),
          {{a}, {b}},
          [options](const Values& x) { return Values{matmul(x[0], x[1], options)}; },
          reference::matmul(ta, tb, false)};
}

OpCase linear_case(std::int64_t inputs, std::int64_t units) {
  return {"linear " + std::to_string(inputs) + " to " + std::to_string(units),
          {{{kBatch, inputs}}, {{inputs, units}}, {{units}}},
          [](const Values& x) { return Values{linear(x[0], x[1], x[2])}; },
          reference::matmul(false, false, false)};
}

/// The products over the last two axes, one for each position on the leading axes of a.
Array products(const Array& a, const Array& b, bool ta, bool tb) {
  const auto rows = a.sizes.size();
  const auto m = a.sizes[rows - (ta ? 1 : 2)], k = a.sizes[rows - (ta ? 2 : 1)];
  const auto n = b.sizes[b.sizes.size() - (tb ? 2 : 1)];
  auto sizes = a.sizes;
  sizes[rows - 2] = m;
  sizes[rows - 1] = n;
  Array y(sizes);
  const auto each_b = b.sizes.size() > 2 ? k * n : 0;
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    const auto matrix = i / (m * n), row = i / n % m, column = i % n;
    for (std::int64_t j = 0; j < k; ++j)
      y.data[static_cast<std::size_t>(i)] +=
          a.data[static_cast<std::size_t>(matrix * m * k + (ta ? j * m + row : row * k + j))] *
          b.data[static_cast<std::size_t>(matrix * each_b + (tb ? column * k + j : j * n + column))];
  }
  return y;
}

OpCase batched_case(const Shape& a, const Shape& b, bool ta, bool tb) {
  const MatmulOptions options{.transpose_a = ta, .transpose_b = tb};
  return forward_case(
      "matmul " + to_string(a) + (ta ? "' " : " ") + to_string(b) + (tb ? "'" : ""), {{a}, {b}},
      [options](const Values& x) { return Values{matmul(x[0], x[1], options)}; },
      [=](const Arrays& in) { return Arrays{products(in[0], in[1], ta, tb)}; });
}

Array sum_of_outer_products(const Arrays& in) {
  const auto m = in[0].sizes.back(), n = in[1].sizes.back();
  Array y({m, n});
  for (std::int64_t row = 0; row < in[0].elements() / m; ++row)
    for (std::int64_t i = 0; i < m * n; ++i)
      y.data[static_cast<std::size_t>(i)] +=
          in[0].data[static_cast<std::size_t>(row * m + i / n)] * in[1].data[static_cast<std::size_t>(row * n + i % n)];
  return y;
}

OpCase outer_case(const Shape& a, const Shape& b) {
  return forward_case(
      "outer_sum " + to_string(a) + " " + to_string(b), {{a}, {b}},
      [](const Values& x) { return Values{outer_sum(x[0], x[1])}; },
      [](const Arrays& in) { return Arrays{sum_of_outer_products(in)}; });
}

/// A product, and whether its largest magnitude is at most 2^64, which it is. `transposed`: the product is a matmul.
OpCase magnitude_case(const Shape& a, const Shape& b, bool transposed) {
  auto result = exact_case(
      "product and magnitude " + to_string(a) + (transposed ? "' " : " ") + to_string(b), {{a}, {b}},
      [transposed](const Values& x) {
        const auto product = transposed ? matmul(x[0], x[1], {.transpose_a = true}) : outer_sum(x[0], x[1]);
        return Values{product, at_most(largest_magnitude(std::vector{product}, 0x1p100), 0x1p64)};
      },
      [](const Arrays& in) {
        return Arrays{sum_of_outer_products(in), reference::one().forward(in).at(0)};
      });
  result.tolerance = 1e-5;
  result.pass = fuse_magnitudes;
  return result;
}

OpCase linear_over_leading_axes() {
  return forward_case(
      "linear over leading axes and relu in one",
      {{{kBatch, 3, 5}, Draw::eighths}, {{5, 4}, Draw::eighths}, {{4}, Draw::off_grid}},
      [](const Values& x) { return Values{relu(linear(x[0], x[1], x[2]))}; },
      [](const Arrays& in) {
        auto y = products(in[0], in[1], false, false);
        for (std::size_t i = 0; i < y.data.size(); ++i) y.data[i] = std::max(0.0, y.data[i] + in[2].data[i % 4]);
        return Arrays{y};
      });
}

/// The orthonormal columns by the Cholesky factor of x' x, another algorithm than that of the kernel.
Array orthonormal(const Array& x) {
  const auto m = static_cast<std::size_t>(x.sizes[0]), n = static_cast<std::size_t>(x.sizes[1]);
  std::vector<double> factor(n * n);
  Array y(x.sizes);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t k = j; k < n; ++k) {
      double sum = 0.0;
      for (std::size_t i = 0; i < m; ++i) sum += x.data[i * n + j] * x.data[i * n + k];
      for (std::size_t i = 0; i < j; ++i) sum -= factor[i * n + j] * factor[i * n + k];
      factor[j * n + k] = j == k ? std::sqrt(sum) : sum / factor[j * n + j];
    }
  for (std::size_t row = 0; row < m; ++row)
    for (std::size_t j = 0; j < n; ++j) {
      double left = x.data[row * n + j];
      for (std::size_t i = 0; i < j; ++i) left -= y.data[row * n + i] * factor[i * n + j];
      y.data[row * n + j] = left / factor[j * n + j];
    }
  return y;
}

OpCase orthonormal_case(std::int64_t m, std::int64_t n) {
  auto result = exact_case(
      "orthonormalize " + std::to_string(m) + " x " + std::to_string(n), {{{m, n}}},
      [](const Values& x) { return Values{orthonormalize(x[0])}; },
      [](const Arrays& in) { return Arrays{orthonormal(in[0])}; });
  result.tolerance = 1e-4;
  return result;
}

/// The reference of two products around a relu. Inputs: x, weights, optionally a bias, the gradient dy of the next
/// layer, and the weights b of that layer. Results: relu(x weights + bias), and the gradient of the input of the relu
/// from dy b'.
Arrays relu_layer_and_gradient(const Arrays& in) {
  auto y = products(in[0], in[1], false, false);
  const auto dy_first = in.size() - 2;
  auto dx = products(in[dy_first], in[dy_first + 1], false, true);
  for (std::size_t i = 0; i < y.data.size(); ++i) {
    if (in.size() == 5) y.data[i] += in[2].data[i % static_cast<std::size_t>(y.sizes.back())];
    y.data[i] = std::max(0.0, y.data[i]);
    if (y.data[i] == 0.0) dx.data[i] = 0.0;
  }
  return {y, dx};
}

/// The forward and the backward product around a relu, of two layers of `units` and `next` units. All sums are exact,
/// and the input of the relu is never zero: with a bias the products are eighths and the bias is off their grid;
/// without one an odd number of odd products has an odd sum.
OpCase relu_products_case(const Shape& x, std::int64_t units, std::int64_t next, bool has_bias) {
  auto dy = x.list();
  dy.back() = next;
  const auto draw = has_bias ? Draw::eighths : Draw::off_grid;
  std::vector<CaseInput> inputs{{x, draw}, {{x.back(0), units}, draw}};
  if (has_bias) inputs.push_back({{units}, Draw::off_grid});
  inputs.insert(inputs.end(), {{Shape(dy), Draw::eighths}, {{units, next}, Draw::eighths}});
  return exact_case(
      "relu between products " + to_string(x) + " to " + std::to_string(units) + " to " + std::to_string(next) +
          (has_bias ? "" : " without a bias"),
      std::move(inputs),
      [](const Values& in) {
        const auto forward_inputs = std::span(in).first(in.size() - 2);
        auto& builder = in[0].builder();
        const Attributes attributes{{"transpose_a", false}, {"transpose_b", false}, {"relu", false}};
        const auto forward = builder.apply(kMatmul, forward_inputs, attributes.with("relu", true))[0];
        const auto backward = builder.apply_one(kMatmulReluGrad, {in[in.size() - 2], in.back(), forward},
                                                attributes.with("transpose_b", true));
        return Values{forward, backward};
      },
      relu_layer_and_gradient);
}

// Eighths and a bias off their grid keep the sums exact and away from zero, so that the relu cuts the same elements on
// every device.
OpCase relu_case(const std::string& name, std::vector<CaseInput> inputs, std::function<Values(const Values&)> build) {
  const bool smooth = inputs.size() == 3;
  return {
      name,  std::move(inputs), std::move(build), reference::matmul(false, false, true), 1e-5, fuse_bias_and_activation,
      smooth};
}

/// The operands are views without alignment, while libraries of products need aligned operands.
OpCase relu_of_views_case() {
  const auto forward = [](const Arrays& in) {
    const auto weights = reference::view_at(1, {20, 40}).forward({in[1]})[0];
    const auto bias = reference::view_at(1, {40}).forward({in[2]})[0];
    return reference::matmul(false, false, true).forward({in[0], weights, bias});
  };
  return {"linear and relu of views that are not aligned",
          {{{kBatch, 20}, Draw::eighths, false}, {{801}, Draw::eighths, false}, {{41}, Draw::off_grid, false}},
          [](const Values& in) {
            return Values{relu(linear(in[0], view_at(in[1], 1, {20, 40}), view_at(in[2], 1, {40})))};
          },
          {forward, nullptr},
          1e-5,
          fuse_bias_and_activation};
}

/// A factor is a view without alignment, for the kernels of the library that read several numbers at once.
OpCase product_of_view_case(bool transpose) {
  const Shape weights = transpose ? Shape{36, 100} : Shape{100, 36};
  const auto forward = [=](const Arrays& in) {
    const auto view = reference::view_at(1, Sizes(weights.sizes().begin(), weights.sizes().end())).forward({in[1]})[0];
    return reference::matmul(false, transpose, false).forward({in[0], view});
  };
  return {
      std::string("matmul of a view that is not aligned") + (transpose ? ", transposed" : ""),
      {{{20, 100}, Draw::eighths, false}, {{3601}, Draw::eighths, false}},
      [=](const Values& in) { return Values{matmul(in[0], view_at(in[1], 1, weights), {.transpose_b = transpose})}; },
      {forward, nullptr},
      1e-5};
}

}  // namespace

std::vector<OpCase> matmul_cases() {
  std::vector<OpCase> cases{product_case({kBatch, 5}, {5, 3}, false, false),
                            product_case({kBatch, 5}, {3, 5}, false, true),
                            product_case({kBatch, 5}, {kBatch, 3}, true, false),
                            product_case({4, 5}, {5, 3}, false, false),
                            product_case({4, 5}, {3, 5}, false, true),
                            product_case({5, 4}, {5, 3}, true, false),
                            product_case({5, 4}, {3, 5}, true, true),
                            product_case({kBatch, 1}, {1, 1}, false, false),
                            product_case({1, 64}, {64, 1}, false, false),
                            product_case({kBatch, 1}, {kBatch, 1}, true, false),
                            product_case({kBatch, 200}, {200, 33}, false, false),
                            product_case({kBatch, 64}, {32, 64}, false, true),
                            product_case({kBatch, 17}, {kBatch, 65}, true, false),
                            linear_case(5, 3),
                            linear_case(1, 1),
                            linear_case(67, 10),
                            linear_case(64, 128)};
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      for (const std::int64_t k : {100, 172, 300})
        cases.push_back(product_case(ta ? Shape{k, 20} : Shape{20, k}, tb ? Shape{36, k} : Shape{k, 36}, ta, tb));
      cases.push_back(batched_case(ta ? Shape{kBatch, 4, 3} : Shape{kBatch, 3, 4},
                                   tb ? Shape{kBatch, 5, 4} : Shape{kBatch, 4, 5}, ta, tb));
      cases.push_back(
          batched_case(ta ? Shape{2, 3, 4, 3} : Shape{2, 3, 3, 4}, tb ? Shape{2, 3, 5, 4} : Shape{2, 3, 4, 5}, ta, tb));
    }
  cases.push_back(batched_case({kBatch, 3, 4}, {4, 5}, false, false));
  cases.push_back(batched_case({kBatch, 3, 4}, {5, 4}, false, true));
  cases.push_back(batched_case({kBatch, 2, 3, 4}, {4, 5}, false, false));
  cases.push_back(outer_case({kBatch, 3, 4}, {kBatch, 3, 5}));
  cases.push_back(outer_case({kBatch, 4}, {kBatch, 5}));
  cases.push_back(outer_case({2, 2, 2, 3}, {2, 2, 2, 4}));
  cases.push_back(magnitude_case({kBatch, 3, 4}, {kBatch, 3, 5}, false));
  cases.push_back(magnitude_case({kBatch, 40}, {kBatch, 50}, true));
  cases.push_back(magnitude_case({6, 4}, {6, 3}, true));
  for (const auto& [m, n] : {std::pair{1, 1}, {7, 1}, {9, 3}, {40, 4}}) cases.push_back(orthonormal_case(m, n));
  for (const auto& [units, next] : {std::pair{9, 5}, {9, 40}, {70, 10}, {70, 40}, {130, 1}, {256, 128}})
    cases.push_back(relu_products_case({kBatch, 40}, units, next, true));
  cases.push_back(relu_products_case({kBatch, 3, 40}, 70, 40, true));
  for (const std::int64_t units : {65, 260}) cases.push_back(relu_products_case({3000, 40}, units, 10, true));
  for (const std::int64_t next : {100, 300}) cases.push_back(relu_products_case({32, 40}, 36, next, true));
  // The forward product is narrow and masks a wide backward product.
  cases.push_back(relu_products_case({kBatch, 20}, 64, 40, true));
  cases.push_back(relu_products_case({kBatch, 0}, 9, 5, false));
  cases.push_back(relu_products_case({kBatch, 41}, 70, 40, false));
  cases.push_back(relu_products_case({kBatch, 7}, 5, 3, false));
  cases.push_back(linear_over_leading_axes());
  cases.back().pass = fuse_bias_and_activation;
  const CaseInput x{{kBatch, 20}, Draw::eighths}, weights{{20, 9}, Draw::eighths}, bias{{9}, Draw::off_grid};
  cases.push_back(relu_case("matmul and relu in one", {x, weights},
                            [](const Values& in) { return Values{relu(matmul(in[0], in[1]))}; }));
  cases.push_back(relu_case("linear and relu in one", {x, weights, bias},
                            [](const Values& in) { return Values{relu(linear(in[0], in[1], in[2]))}; }));
  cases.push_back(relu_case("matmul, add and relu in one", {x, weights, bias},
                            [](const Values& in) { return Values{relu(add(matmul(in[0], in[1]), in[2]))}; }));
  cases.push_back(relu_of_views_case());
  for (const bool transpose : {false, true}) cases.push_back(product_of_view_case(transpose));
  return cases;
}

}  // namespace troupe::ops_test
