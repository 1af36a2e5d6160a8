#include "troupe/ops/nn/model.hpp"

#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/nn/loss.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

const std::vector<Field> kFields{{"a", {Shape{kBatch, 2}, DType::float32}},
                                 {"b", {Shape{kBatch}, DType::int32}},
                                 {"c", {Shape{kBatch, 2}, DType::float32}}};

}  // namespace

TEST_CASE("only fields that are read become inputs, each once", "[model]") {
  GraphBuilder builder;
  const Inputs inputs(builder, kFields);
  const auto b = inputs["b"];
  CHECK(b.info() == kFields[1].info);
  CHECK(inputs["b"].id() == b.id());
  CHECK(builder.graph().nodes().size() == 1);
  CHECK(inputs.has("c"));
  CHECK_FALSE(inputs.has("d"));
  CHECK(contains(error_of([&] { (void)inputs["d"]; }),
                 "no field 'd' among 'a' float32[B, 2], 'b' int32[B], 'c' float32[B, 2]"));
  CHECK(inputs.expect("b", kFields[1].info, "a test").id() == b.id());
  CHECK(contains(error_of([&] { (void)inputs.expect("b", kFields[0].info, "a test"); }),
                 "field 'b' int32[B] is read by a test, which needs float32[B, 2]"));
}

TEST_CASE("a function of one value is a model of the first field, or of the one it is given with", "[model]") {
  GraphBuilder builder;
  const Inputs inputs(builder, kFields);
  const auto twice = [](Value x) { return scale(x, 2.0); };
  CHECK(Model(twice)(inputs).entries().at(0).first == "output");
  CHECK(builder.graph().nodes()[0].name == "a");
  Model(twice, "c")(inputs);
  CHECK(builder.graph().nodes()[2].name == "c");
}

TEST_CASE("outputs have names", "[model]") {
  GraphBuilder builder;
  const auto x = builder.input("x", {kBatch, 2}), y = builder.input("y", {kBatch});
  const Outputs one = x, two{{"x", x}, {"y", y}};
  CHECK(one[""].id() == x.id());
  CHECK(two["y"].id() == y.id());
  CHECK(contains(error_of([&] { (void)two[""]; }), "several outputs: name one of 'x', 'y'"));
  CHECK(contains(error_of([&] { (void)two["z"]; }), "no output 'z' among 'x', 'y'"));
  CHECK(contains(error_of([&] { Outputs({{"x", x}, {"x", y}}); }), "two outputs named 'x'"));
  CHECK(contains(error_of([&] { Outputs({{"x", Value()}}); }), "output 'x' is no value"));
}

TEST_CASE("the mean squared error is the mean over a row; its metric the sum over the rows", "[loss]") {
  GraphBuilder builder;
  const Inputs inputs(builder, kFields);
  const Outputs outputs = inputs["a"];
  builder.output("loss", MeanSquaredError{}(outputs, inputs));
  builder.output("sum", mean_squared_error().sums(outputs, inputs).sum);
  Program program(std::move(builder).build(), 2);
  program.bind("a", Tensor::from<float>({2, 2}, std::vector<float>{1, 2, 3, 4}));
  program.bind("c", Tensor::from<float>({2, 2}, std::vector<float>{0, 0, 3, 6}));
  program.run();
  CHECK(program.output("loss").data<float>()[0] == 2.5F);
  CHECK(program.output("loss").data<float>()[1] == 2.0F);
  CHECK(program.output("sum").item<float>() == 4.5F);
}

TEST_CASE("batch info travels as int64[4], and nothing else is taken for it", "[batch_info]") {
  const Tensor tensor(BatchInfo::info().shape, BatchInfo::info().dtype);
  const BatchInfo info{3, 10, 4, 77};
  info.write(tensor);
  CHECK(BatchInfo::read(tensor) == info);
  CHECK(tensor.data<std::int64_t>()[1] == 10);
  CHECK(contains(error_of([] { BatchInfo::read(Tensor({4}, DType::int32)); }), "is not int64[4]"));
}

}  // namespace troupe::ops_test
