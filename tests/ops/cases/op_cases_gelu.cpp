#include "troupe/tests/ops/cases/op_cases.hpp"

// Cases of products fused with gelu_tanh and its gradient.

#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe::ops_test {

namespace {

/// The product of all rows of a with one matrix.
Array rows_times(const Array& a, const Array& matrix, bool transposed) {
  const auto terms = a.sizes.back(), columns = matrix.sizes[transposed ? 0 : 1];
  auto sizes = a.sizes;
  sizes.back() = columns;
  Array y(sizes);
  for (std::int64_t i = 0; i < y.elements(); ++i)
    for (std::int64_t k = 0; k < terms; ++k) {
      const auto row = i / columns, column = i % columns;
      y.data[static_cast<std::size_t>(i)] +=
          a.data[static_cast<std::size_t>(row * terms + k)] *
          matrix.data[static_cast<std::size_t>(transposed ? column * terms + k : k * columns + column)];
    }
  return y;
}

/// The reference. Inputs: x, weights, optionally a bias, the gradient dz of the next layer, and the weights of that
/// layer. Results: the gelu, its input, the gradient of its input and the sums of the columns of that gradient.
Arrays layer_and_gradients(const Arrays& in) {
  auto x = rows_times(in[0], in[1], false);
  auto dx = rows_times(in[in.size() - 2], in.back(), true);
  auto y = x;
  Array sums({x.sizes.back()});
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    const auto column = i % sums.data.size();
    if (in.size() == 5) x.data[i] += in[2].data[column];
    y.data[i] = reference::gelu_tanh(x.data[i]);
    dx.data[i] *= reference::gelu_tanh_slope(x.data[i]);
    sums.data[column] += dx.data[i];
  }
  return {y, x, dx, sums};
}

/// The variant of the ops in a case.
struct GeluOptions {
  bool bias = true, keeps_product = true, sums_rows = true;
};

Values apply_both(const Values& in, const GeluOptions& options) {
  auto& builder = in[0].builder();
  const Attributes product{{"transpose_a", false}, {"transpose_b", false}, {"relu", false}};
  const auto forward = builder.apply(kMatmulGeluTanh, std::span(in).first(in.size() - 2),
                                     product.with("keeps_product", options.keeps_product));
  if (!options.keeps_product) return forward;
  const auto backward = builder.apply(kMatmulGeluTanhGrad, std::vector{in[in.size() - 2], in.back(), forward[1]},
                                      product.with("transpose_b", true).with("sums_rows", options.sums_rows));
  auto results = forward;
  results.insert(results.end(), backward.begin(), backward.end());
  return results;
}

/// Two layers of `units` and `next` units.
OpCase gelu_case(const Shape& x, std::int64_t units, std::int64_t next, const GeluOptions& options) {
  auto dz = x.list();
  dz.back() = next;
  std::vector<CaseInput> inputs{{x}, {{x.back(0), units}}};
  if (options.bias) inputs.push_back({{units}});
  inputs.insert(inputs.end(), {{Shape(dz)}, {{units, next}}});
  auto result = exact_case(
      "gelu between products " + to_string(x) + " to " + std::to_string(units) + " to " + std::to_string(next) +
          (options.bias ? "" : ", no bias") + (options.keeps_product ? "" : ", forward") +
          (options.sums_rows ? "" : ", no sums"),
      std::move(inputs), [options](const Values& in) { return apply_both(in, options); },
      [options](const Arrays& in) {
        auto all = layer_and_gradients(in);
        all.resize(!options.keeps_product ? 1 : (options.sums_rows ? 4 : 3));
        return all;
      });
  result.tolerance = 1e-5;
  result.roundings = 4.0;
  return result;
}

}  // namespace

std::vector<OpCase> gelu_cases() {
  std::vector<OpCase> cases;
  for (const auto& [units, next] : {std::pair{9, 5}, {72, 40}, {75, 40}, {128, 64}, {64, 1}})
    for (const bool bias : {true, false}) {
      cases.push_back(gelu_case({kBatch, 40}, units, next, {.bias = bias}));
      cases.push_back(gelu_case({kBatch, 40}, units, next, {.bias = bias, .sums_rows = false}));
      cases.push_back(gelu_case({kBatch, 40}, units, next, {.bias = bias, .keeps_product = false}));
    }
  cases.push_back(gelu_case({kBatch, 3, 40}, 72, 40, {}));
  cases.push_back(gelu_case({kBatch, 0}, 8, 5, {.bias = false}));
  return cases;
}

}  // namespace troupe::ops_test
