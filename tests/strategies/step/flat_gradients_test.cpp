#include "troupe/strategies/step/flat_gradients.hpp"

#include "troupe/ops/graph/program.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

std::vector<float> numbers(const Tensor& tensor) {
  return {tensor.data<float>().begin(), tensor.data<float>().end()};
}

}  // namespace

TEST_CASE("flattened gradients lie one after the other, and unflattened ones have their shapes again") {
  GraphBuilder builder;
  const std::vector values{builder.input("a", {2, 2}), builder.input("b", {0, 3}), builder.input("c", {3})};
  const auto flat = flattened(values);
  builder.output("flat", flat);
  const auto cut = unflattened(flat, std::vector{Shape{2, 2}, Shape{0, 3}, Shape{3}});
  for (std::size_t i = 0; i < cut.size(); ++i) builder.output(std::to_string(i), cut[i]);
  Program program(std::move(builder).build(), 1);
  program.bind("a", Tensor::from<float>({2, 2}, {1, 2, 3, 4}));
  program.bind("b", Tensor({0, 3}, DType::float32));
  program.bind("c", Tensor::from<float>({3}, {5, 6, 7}));
  program.run();
  CHECK(numbers(program.output("flat")) == std::vector<float>{1, 2, 3, 4, 5, 6, 7});
  CHECK(program.output("0").shape() == Shape{2, 2});
  CHECK(numbers(program.output("0")) == std::vector<float>{1, 2, 3, 4});
  CHECK(program.output("1").shape() == Shape{0, 3});
  CHECK(numbers(program.output("2")) == std::vector<float>{5, 6, 7});
}

TEST_CASE("no gradients cannot be joined") {
  CHECK_THROWS_WITH(flattened({}), "[gradient_hook] has no values to join");
}
