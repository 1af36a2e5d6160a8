#include <algorithm>

#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/slice.hpp"
#include "troupe/ops/passes/gradient.hpp"
#include "troupe/tests/catch.hpp"

namespace troupe::ops_test {

TEST_CASE("axes and values are given as lists in braces", "[reduce][slice]") {
  GraphBuilder builder;
  const auto x = builder.constant(Tensor::from<float>({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}));
  builder.output("sum", reduce_sum(x, {1}));
  builder.output("mean", reduce_mean(x, {0, 1}));
  builder.output("same", reduce_max(x, {}));
  builder.output("joined", concat({x, x}, 0));
  builder.output("added", add_n({x, x, x}));
  builder.output("gradient", gradients(reduce_sum(x * x, {0, 1}), {x})[0]);
  Program program(std::move(builder).build(), 0);
  program.run();
  const auto equals = [&](const char* output, const std::vector<float>& values) {
    return std::ranges::equal(program.output(output).data<float>(), values);
  };
  CHECK(equals("sum", {6, 15}));
  CHECK(equals("mean", {3.5F}));
  CHECK(equals("same", {1, 2, 3, 4, 5, 6}));
  CHECK(program.output("joined").shape() == Shape{4, 3});
  CHECK(equals("added", {3, 6, 9, 12, 15, 18}));
  CHECK(equals("gradient", {2, 4, 6, 8, 10, 12}));
}

TEST_CASE("a list of one size is a size, not a number of parts", "[slice]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {2, 4});
  CHECK(split(x, 1, {4}).size() == 1);
  CHECK(split(x, 1, {1, 3})[1].shape() == Shape{2, 3});
  CHECK(split(x, 1, 4).size() == 4);
}

}  // namespace troupe::ops_test
