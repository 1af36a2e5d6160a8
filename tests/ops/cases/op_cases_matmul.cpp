#include "troupe/ops/elementwise.hpp"
#include "troupe/ops/graph/passes.hpp"
#include "troupe/ops/matmul.hpp"
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

// Eighths and a bias off their grid keep the sums exact and away from zero, so that relu decides alike everywhere.
OpCase relu_case(const std::string& name, std::vector<CaseInput> inputs, std::function<Values(const Values&)> build) {
  const bool smooth = inputs.size() == 3;
  return {
      name,  std::move(inputs), std::move(build), reference::matmul(false, false, true), 1e-5, fuse_bias_and_activation,
      smooth};
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
  const CaseInput x{{kBatch, 20}, Draw::eighths}, weights{{20, 9}, Draw::eighths}, bias{{9}, Draw::off_grid};
  cases.push_back(relu_case("matmul and relu in one", {x, weights},
                            [](const Values& in) { return Values{relu(matmul(in[0], in[1]))}; }));
  cases.push_back(relu_case("linear and relu in one", {x, weights, bias},
                            [](const Values& in) { return Values{relu(linear(in[0], in[1], in[2]))}; }));
  cases.push_back(relu_case("matmul, add and relu in one", {x, weights, bias},
                            [](const Values& in) { return Values{relu(add(matmul(in[0], in[1]), in[2]))}; }));
  return cases;
}

}  // namespace troupe::ops_test
