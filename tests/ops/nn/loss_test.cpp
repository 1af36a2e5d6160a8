#include "troupe/ops/nn/loss.hpp"

#include <cmath>
#include <limits>

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/library/cast.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

using Floats = std::vector<float>;

/// A batch: the output "y" of a model, and fields.
struct Batch {
  Tensor y;
  std::vector<std::pair<std::string, Tensor>> fields;
};

/// The result of a function of outputs and fields for a batch.
Tensor value_of(const Batch& batch, const std::function<Value(const Outputs&, const Inputs&)>& function) {
  GraphBuilder builder;
  const auto info_of = [](const Tensor& tensor) {
    auto sizes = tensor.shape().list();
    sizes[0] = kBatch;
    return TensorInfo{Shape(sizes), tensor.dtype()};
  };
  std::vector<Field> fields;
  for (const auto& [name, tensor] : batch.fields) fields.push_back({name, info_of(tensor)});
  const Inputs inputs(builder, fields);
  const Outputs outputs(builder.input("y", info_of(batch.y).shape));
  builder.output("value", function(outputs, inputs));
  const auto graph = std::move(builder).build();
  Program program(graph, batch.y.shape()[0]);
  program.bind("y", batch.y);
  for (auto id : graph.sources(kInput))
    for (const auto& [name, tensor] : batch.fields)
      if (graph.producer(id).name == name) program.bind(name, tensor);
  program.run();
  return program.output("value").clone();
}

void check_values(const Tensor& got, const Floats& want) {
  REQUIRE(got.elements() == static_cast<std::int64_t>(want.size()));
  for (std::size_t i = 0; i < want.size(); ++i) CHECK(got.data<float>()[i] == Approx(want[i]).margin(1e-6));
}

Tensor floats(const Shape& shape, const Floats& elements) {
  return Tensor::from<float>(shape, elements);
}
Tensor ints(const Shape& shape, const std::vector<std::int32_t>& elements) {
  return Tensor::from<std::int32_t>(shape, elements);
}

const Batch kRegression{floats({2, 2}, {1.0F, 2.0F, -1.0F, 4.0F}),
                        {{"weight", floats({2}, {2.0F, 0.5F})}, {"t", floats({2, 2}, {0.5F, 2.0F, -1.0F, 1.0F})}}};

// The logits are equal, so every class has the probability 1/4.
const Batch kSequences{floats({2, 3, 4}, Floats(24, 1.0F)), {{"labels", ints({2, 3}, {0, 3, 1, 2, -7, -7})}}};

}  // namespace

TEST_CASE("losses of float targets are means over the elements of a row", "[loss]") {
  check_values(value_of(kRegression, MeanSquaredError{}), {0.125F, 4.5F});
  check_values(value_of(kRegression, MeanAbsoluteError{}), {0.25F, 1.5F});
  // The differences 0.5 and 0 are near; 3 is far and gives 1 * (3 - 0.5).
  check_values(value_of(kRegression, Huber{}), {0.0625F, 1.25F});
  check_values(value_of(kRegression, Huber{.delta = 4.0}), {0.0625F, 2.25F});
}

TEST_CASE("binary cross-entropy is right for large logits, too", "[loss]") {
  const Batch batch{floats({2}, {0.0F, 200.0F}), {{"t", floats({2}, {0.25F, 0.0F})}}};
  check_values(value_of(batch, BinaryCrossEntropy{}), {std::log(2.0F), 200.0F});
  // The loss of a large logit of the right class is small, and keeps its digits.
  const Batch confident{floats({2}, {15.0F, -15.0F}), {{"t", floats({2}, {1.0F, 0.0F})}}};
  const auto losses = value_of(confident, BinaryCrossEntropy{});
  for (const auto loss : losses.data<float>()) CHECK(loss == Approx(std::log1p(std::exp(-15.0))).epsilon(1e-6));
}

TEST_CASE("the cross-entropy of sequences is the mean over the labels that are not ignored", "[loss]") {
  const auto one = std::log(4.0F);
  check_values(value_of(kSequences, SoftmaxCrossEntropy{.ignored = -7}), {one, one});
  const Batch none{kSequences.y, {{"labels", ints({2, 3}, {-7, -7, -7, 1, 1, 1})}}};
  check_values(value_of(none, SoftmaxCrossEntropy{.ignored = -7}), {0.0F, one});
  const Batch soft{floats({2, 4}, Floats(8, 1.0F)), {{"p", floats({2, 4}, {1, 0, 0, 0, 0.25F, 0.25F, 0.25F, 0.25F})}}};
  check_values(value_of(soft, SoftmaxCrossEntropy{.smoothing = 0.1, .soft = true}), {one, one});
}

TEST_CASE("smoothing of integer labels and of probabilities is the same", "[loss]") {
  const auto logits = floats({2, 3}, {0.5F, -1.0F, 2.0F, 0.0F, 0.25F, 1.0F});
  const Batch hard{logits, {{"labels", ints({2}, {2, 0})}}};
  const Batch soft{logits, {{"labels", floats({2, 3}, {0, 0, 1, 1, 0, 0})}}};
  const auto loss = value_of(hard, SoftmaxCrossEntropy{.smoothing = 0.2});
  const auto want = loss.data<float>();
  check_values(value_of(soft, SoftmaxCrossEntropy{.smoothing = 0.2, .soft = true}), Floats(want.begin(), want.end()));
}

TEST_CASE("losses are weighted by row and added up", "[loss]") {
  check_values(value_of(kRegression, WeightedByRow{MeanSquaredError{}, "weight"}), {0.25F, 2.25F});
  const SumOfLosses sum{{{2.0, MeanSquaredError{}}, {0.5, MeanAbsoluteError{}}}};
  check_values(value_of(kRegression, sum), {0.375F, 9.75F});
}

TEST_CASE("metrics of a sum of losses have names of their own", "[loss]") {
  const SumOfLosses sum{{{1.0, SoftmaxCrossEntropy{.logits = "a"}}, {1.0, SoftmaxCrossEntropy{.logits = "b"}}}};
  const auto metrics = sum.metrics();
  REQUIRE(metrics.size() == 2);
  CHECK(metrics[0].name == "accuracy");
  CHECK(metrics[1].name == "accuracy_2");
}

TEST_CASE("metrics count what they should", "[metric]") {
  const Batch batch{floats({2, 3}, {3, 2, 1, 1, 2, 3}), {{"labels", ints({2}, {1, 2})}}};
  const auto sum_of = [&](const Metric& metric, const Batch& of) {
    return value_of(of, [&](const Outputs& outputs, const Inputs& fields) { return metric.sums(outputs, fields).sum; });
  };
  const auto count_of = [&](const Metric& metric, const Batch& of) {
    return value_of(of,
                    [&](const Outputs& outputs, const Inputs& fields) { return metric.sums(outputs, fields).count; });
  };
  CHECK(sum_of(accuracy(), batch).item<std::int64_t>() == 1);
  CHECK(sum_of(top_k_accuracy(1), batch).item<float>() == 1.0F);
  CHECK(sum_of(top_k_accuracy(2), batch).item<float>() == 2.0F);
  CHECK(count_of(top_k_accuracy(2), batch).item<float>() == 2.0F);
  check_values(sum_of(confusion_matrix(), batch), {0, 0, 0, 1, 0, 0, 0, 0, 1});
  CHECK(sum_of(mean_squared_error(), kRegression).item<float>() == Approx(4.625F));
  CHECK(sum_of(mean_absolute_error(), kRegression).item<float>() == Approx(1.75F));
  CHECK(count_of(accuracy({}, {}, -7), kSequences).item<float>() == 4.0F);
  CHECK(sum_of(accuracy({}, {}, -7), kSequences).item<std::int64_t>() == 1);
}

TEST_CASE("metrics leave out ignored labels, also a label that is a class", "[metric]") {
  const Batch batch{floats({4, 2}, {2, 1, 1, 2, 2, 1, 1, 2}), {{"labels", ints({4}, {0, -100, 1, -100})}}};
  const auto result = [](const Batch& of, const Metric& metric) {
    const auto sums = value_of(of, [&](const Outputs& outputs, const Inputs& fields) {
      return cast(metric.sums(outputs, fields).sum, DType::float32);
    });
    const auto count =
        value_of(of, [&](const Outputs& outputs, const Inputs& fields) { return metric.sums(outputs, fields).count; });
    auto elements = sums.data<float>();
    Floats all(elements.begin(), elements.end());
    all.push_back(count.item<float>());
    return all;
  };
  CHECK(result(batch, accuracy({}, {}, -100)) == Floats{1, 2});
  CHECK(result(batch, top_k_accuracy(1, {}, {}, -100)) == Floats{1, 2});
  CHECK(result(batch, top_k_accuracy(2, {}, {}, -100)) == Floats{2, 2});
  CHECK(result(batch, confusion_matrix({}, {}, -100)) == Floats{1, 0, 1, 0, 2});
  const Batch classes{batch.y, {{"labels", ints({4}, {0, 1, 1, 0})}}};
  CHECK(result(classes, top_k_accuracy(1, {}, {}, 0)) == Floats{1, 2});
  CHECK(result(classes, confusion_matrix({}, {}, 0)) == Floats{0, 0, 1, 1, 2});
}

TEST_CASE("class weights that do not fit are refused", "[loss][errors]") {
  const Batch batch{floats({2, 2}, Floats(4, 1.0F)), {{"labels", ints({2}, {0, 1})}}};
  const auto refusal = [&](const SoftmaxCrossEntropy& loss) { return error_of([&] { value_of(batch, loss); }); };
  CHECK(refusal({.class_weights = {1.0F}}) == "[loss] there are 1 class weights for 2 classes");
  CHECK(refusal({.class_weights = {1.0F, -1.0F}}) == "[loss] the weight of class 1 must be finite and not negative");
  CHECK(contains(refusal({.smoothing = 0.1, .class_weights = {1.0F, 1.0F}}), "class weights need labels without"));
}

TEST_CASE("losses refuse outputs and fields that they cannot read, by name", "[loss][errors]") {
  const auto refusal = [](const Batch& batch, const std::function<Value(const Outputs&, const Inputs&)>& function) {
    return error_of([&] { value_of(batch, function); });
  };
  CHECK(contains(refusal(kRegression, SoftmaxCrossEntropy{}), "int32[B]"));
  CHECK(contains(refusal(kSequences, MeanSquaredError{}), "'labels' int32[B, 3]"));
  CHECK(contains(refusal(kRegression, MeanSquaredError{.target = "x"}), "there is no field 'x'"));
  CHECK(contains(refusal(kRegression, WeightedByRow{MeanSquaredError{}, "t"}), "the weights of the rows"));
  CHECK(contains(refusal(kRegression, SumOfLosses{}), "[loss] a sum of losses needs at least one"));
  for (const auto delta : {0.0, std::numeric_limits<double>::infinity()})
    CHECK(refusal(kRegression, Huber{.delta = delta}) == "[huber] delta must be above 0 and finite");
  const Batch soft{floats({2, 2}, Floats(4, 1.0F)), {{"p", floats({2, 2}, Floats(4, 0.5F))}}};
  CHECK(refusal(soft, SoftmaxCrossEntropy{.ignored = 1, .soft = true}) ==
        "[loss] probabilities have no label to ignore");
  for (const double smoothing : {-0.1, 1.1})
    CHECK(refusal(soft, SoftmaxCrossEntropy{.smoothing = smoothing, .soft = true}) ==
          "[loss] the smoothing must be in [0, 1]");
  for (const double smoothing : {0.0, 1.0})
    CHECK(refusal(soft, SoftmaxCrossEntropy{.smoothing = smoothing, .soft = true}).empty());
  const Batch one_number_a_row{floats({2}, {1.0F, 2.0F}), {{"labels", ints({2}, {0, 1})}}};
  CHECK(contains(refusal(one_number_a_row, SoftmaxCrossEntropy{}), "[loss] the model's output is float32[B], but"));
}

}  // namespace troupe::ops_test
