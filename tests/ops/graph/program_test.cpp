#include "troupe/ops/graph/program.hpp"

#include <algorithm>

#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/nn/optimizer.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

using Axes = std::vector<std::int64_t>;

Graph doubling() {
  GraphBuilder builder;
  const auto x = builder.input("x", {kBatch, 2});
  builder.output("y", scale(x, 2.0));
  builder.output("x again", reshape(x, {kBatch, 2, 1}));
  return std::move(builder).build();
}

Tensor pair(float a, float b) {
  return Tensor::from<float>({1, 2}, std::vector<float>{a, b});
}

std::vector<float> elements(const Tensor& tensor) {
  const auto data = tensor.data<float>();
  return {data.begin(), data.end()};
}

}  // namespace

TEST_CASE("a program can run again on the same memory", "[program]") {
  Program program(doubling(), 1);
  const auto x = pair(1.0F, 2.0F);
  program.bind("x", x);
  program.run();
  CHECK(elements(program.output("y")) == std::vector<float>{2.0F, 4.0F});
  x.mutable_data<float>()[0] = 5.0F;
  program.run();
  CHECK(elements(program.output("y")) == std::vector<float>{10.0F, 4.0F});
}

TEST_CASE("other memory may be bound between runs, and views follow", "[program]") {
  Program program(doubling(), 1);
  program.bind("x", pair(1.0F, 2.0F));
  program.run();
  program.bind("x", pair(3.0F, 4.0F));
  program.run();
  CHECK(elements(program.output("y")) == std::vector<float>{6.0F, 8.0F});
  CHECK(elements(program.output("x again")) == std::vector<float>{3.0F, 4.0F});
}

TEST_CASE("memory that is no longer bound is not held, and must be bound again", "[program]") {
  Program program(doubling(), 1);
  const auto x = pair(1.0F, 2.0F);
  program.bind("x", x);
  program.run();
  CHECK(x.use_count() > 1);
  program.unbind("x");
  CHECK(x.use_count() == 1);
  CHECK_FALSE(program.output("x again"));
  CHECK(elements(program.output("y")) == std::vector<float>{2.0F, 4.0F});
  CHECK(error_of([&] { program.run(); }) == "[x] has no memory: bind it first");
  CHECK(error_of([&] { program.unbind("z"); }) == "[program] there is no input or parameter 'z'");
  program.bind("x", pair(3.0F, 4.0F));
  program.run();
  CHECK(elements(program.output("x again")) == std::vector<float>{3.0F, 4.0F});
}

TEST_CASE("a program with unbound inputs refuses to run", "[program]") {
  Program program(doubling(), 1);
  CHECK(error_of([&] { program.run(); }) == "[x] has no memory: bind it first");
}

TEST_CASE("binding a wrong shape, dtype or name is refused", "[program]") {
  Program program(doubling(), 3);
  const auto error_of_binding = [&](const std::string& name, const Tensor& tensor) {
    return error_of([&] { program.bind(name, tensor); });
  };
  CHECK(error_of_binding("x", Tensor({3, 2}, DType::float32)).empty());
  CHECK(contains(error_of_binding("x", Tensor({2, 2}, DType::float32)),
                 "[x] float32[2, 2] on cpu:0 was given where float32[B, 2]"));
  CHECK_FALSE(error_of_binding("x", Tensor({6}, DType::float32)).empty());
  CHECK_FALSE(error_of_binding("x", Tensor({3, 2}, DType::int32)).empty());
  CHECK(contains(error_of_binding("z", pair(0, 0)), "[program] there is no input or parameter 'z'"));
  CHECK(contains(error_of([&] { (void)program.output("z"); }), "no output 'z'"));
}

TEST_CASE("no rows give empty results and sums of zero", "[program]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {kBatch, 2});
  const auto y = matmul(x, builder.parameter("w", {2, 3}, Initializer::zeros()));
  builder.output("y", y);
  builder.output("sum", reduce_sum(y, Axes{0}));
  builder.output("product", matmul(x, y, {.transpose_a = true}));
  Program program(std::move(builder).build(), 0);
  program.bind("x", Tensor({0, 2}, DType::float32));
  program.bind("w", Tensor({2, 3}, DType::float32));
  for (int run = 0; run < 2; ++run) {
    program.run();
    CHECK(program.output("y").shape() == Shape{0, 3});
    CHECK(elements(program.output("sum")) == std::vector<float>(3, 0.0F));
    CHECK(elements(program.output("product")) == std::vector<float>(6, 0.0F));
    std::ranges::fill(program.output("sum").mutable_data<float>(), 7.0F);
  }
}

TEST_CASE("an update is made in the memory of the parameter", "[program]") {
  GraphBuilder builder;
  const auto w = builder.parameter("w", {2}, Initializer::zeros());
  const std::vector gradient{builder.input("g", {2})};
  Optimizer(Sgd{.lr = 1.0}).apply(std::vector{w}, gradient, builder.input("info", {4}, DType::int64));
  Program program(std::move(builder).build(), 0);
  const Tensor memory({2}, DType::float32);
  program.bind("w", memory);
  program.bind("g", Tensor::from<float>({2}, std::vector<float>{1.0F, 2.0F}));
  program.bind("info", Tensor({4}, DType::int64));
  program.run();
  program.run();
  CHECK(elements(memory) == std::vector<float>{-2.0F, -4.0F});
}

TEST_CASE("a program reuses memory after its last reader", "[program]") {
  const auto bytes_of_chain = [](int length) {
    GraphBuilder builder;
    auto x = builder.input("x", {1024});
    for (int i = 0; i < length; ++i) x = scale(x, 2.0);
    builder.output("y", x);
    return Program(std::move(builder).build(), 0).memory_bytes();
  };
  CHECK(bytes_of_chain(3) == bytes_of_chain(30));
  CHECK(bytes_of_chain(30) == 2 * 4096);
}

TEST_CASE("inner values that are read later are not overwritten", "[program]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {64});
  std::vector<Value> terms;
  for (int i = 0; i < 8; ++i) terms.push_back(scale(x, static_cast<double>(1 << i)));
  auto sum = terms.back();
  for (int i = 6; i >= 0; --i) sum = add(sum, terms[static_cast<std::size_t>(i)]);
  builder.output("sum", sum);
  Program program(std::move(builder).build(), 0);
  program.bind("x", Tensor::from<float>({64}, std::vector<float>(64, 1.0F)));
  program.run();
  CHECK(elements(program.output("sum")) == std::vector<float>(64, 255.0F));
}

TEST_CASE("a collective cannot run in a program", "[program]") {
  GraphBuilder builder;
  builder.output("y", all_reduce(builder.input("x", {2})));
  const auto graph = std::move(builder).build();
  CHECK(contains(error_of([&] { Program(graph, 0); }), "[all_reduce] needs a communicator"));
}

TEST_CASE("a device without kernels is an error that names it", "[program]") {
  CHECK(contains(error_of([] { Program(doubling(), 1, {DeviceType::cuda, 99}); }), "cuda:99"));
}

TEST_CASE("the steps of a program can be run one by one", "[program]") {
  Program program(doubling(), 1);
  program.bind("x", pair(1.0F, 2.0F));
  program.run();
  program.output("y").mutable_data<float>()[0] = 0.0F;
  REQUIRE(program.steps().size() == 1);
  CHECK(program.steps()[0].name == "scale");
  program.run_step(0);
  CHECK(elements(program.output("y")) == std::vector<float>{2.0F, 4.0F});
}

}  // namespace troupe::ops_test
