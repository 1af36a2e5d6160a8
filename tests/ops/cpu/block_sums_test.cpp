// Sums of millions of equal terms, which a single float sum gets wrong: it stops growing at 2^24 terms, and has lost
// 1 percent at 2^20 terms of 0.1.

#include "troupe/ops/cpu/block_sums.hpp"

#include <cstring>

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/library/gather.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/top_k.hpp"
#include "troupe/tests/catch.hpp"

namespace troupe::ops_test {

namespace {

constexpr std::int64_t kTall = std::int64_t{1} << 20;
constexpr double kSumOfTall = 0.1 * static_cast<double>(kTall);

Tensor filled(const Shape& shape, float number) {
  Tensor tensor(shape, DType::float32);
  std::ranges::fill(tensor.mutable_data<float>(), number);
  return tensor;
}

struct Bound {
  std::string name;
  Tensor tensor;
};

/// Returns the output `y` of a graph.
Tensor result_of(GraphBuilder&& builder, const std::vector<Bound>& inputs) {
  Program program(std::move(builder).build(), 1);
  for (const auto& [name, tensor] : inputs) program.bind(name, tensor);
  program.run();
  return program.output("y").copy_to_host();
}

void check_all(const Tensor& sums, double expected, double tolerance = 1e-4) {
  for (const auto sum : sums.data<float>()) CHECK(sum == Approx(expected).epsilon(tolerance));
}

/// Returns output number `index` of `op`, applied to `tensors`.
Tensor result_of_gradient(const OpDef& op, const std::vector<Tensor>& tensors, std::size_t index) {
  GraphBuilder builder;
  std::vector<Value> inputs;
  std::vector<Bound> bound;
  for (const auto& tensor : tensors) {
    bound.push_back({"x" + std::to_string(inputs.size()), tensor});
    inputs.push_back(builder.input(bound.back().name, tensor.shape(), tensor.dtype()));
  }
  builder.output("y", builder.apply(op, inputs)[index]);
  return result_of(std::move(builder), bound);
}

Tensor sum_over(const Shape& shape, const std::vector<std::int64_t>& axes) {
  GraphBuilder builder;
  builder.output("y", reduce_sum(builder.input("x", shape), axes));
  return result_of(std::move(builder), {{"x", filled(shape, 0.1F)}});
}

}  // namespace

TEST_CASE("blocks of rows are added up one after the other", "[ops]") {
  std::vector<float> sums(1, 7.0F);
  cpu::BlockSums three_blocks(1, 5, 2), one_block(1, 2, 2);
  for (auto* block_sums : {&three_blocks, &one_block}) {
    block_sums->begin(sums.data());
    for (int row = 0; row < 5; ++row) *block_sums->next_row() += 1.0F;
    block_sums->finish();
    CHECK(sums[0] == 5.0F);
  }
}

TEST_CASE("a sum of millions of terms keeps its digits", "[ops]") {
  check_all(sum_over({kTall, 2}, {0}), kSumOfTall);
  check_all(sum_over({2, kTall, 3}, {1}), kSumOfTall);
  check_all(sum_over({kTall, 1, 2}, {0, 2}), 2.0 * kSumOfTall);
  check_all(sum_over({16 * kTall}, {0}), 16.0 * kSumOfTall);
}

TEST_CASE("gradients that are sums over millions of rows keep their digits", "[ops]") {
  const auto tall = filled({kTall, 2}, 0.1F), pair = filled({2}, 1.0F), column = filled({kTall}, 1.0F);
  check_all(result_of_gradient(kReluGradBias, {tall, tall}, 1), kSumOfTall);
  const auto zeros = filled({kTall}, 0.0F), ones = filled({kTall, 2}, 1.0F);
  check_all(result_of_gradient(kLayerNormGrad, {tall, ones, pair, zeros, column}, 1), kSumOfTall);
  check_all(result_of_gradient(kLayerNormGrad, {tall, ones, pair, zeros, column}, 2), kSumOfTall);
  check_all(result_of_gradient(kRmsNormGrad, {tall, ones, pair, column}, 1), kSumOfTall);
}

TEST_CASE("the gradient of a convolution's bias over millions of pixels keeps its digits", "[ops]") {
  constexpr std::int64_t kImages = kTall / 4096;
  GraphBuilder builder;
  const auto x = builder.input("x", {kImages, 64, 64, 1}), dy = builder.input("dy", {kImages, 64, 64, 2});
  const Attributes attributes{{"stride", std::int64_t{1}},
                              {"padding", std::int64_t{0}},
                              {"groups", std::int64_t{1}},
                              {"shape", std::vector<std::int64_t>{1, 1, 1, 2}},
                              {"bias", true}};
  const auto gradients = builder.apply(kConv2dGradWeights, {x, dy}, attributes);
  builder.output("y", gradients[1]);
  check_all(result_of(std::move(builder),
                      {{"x", filled({kImages, 64, 64, 1}, 1.0F)}, {"dy", filled({kImages, 64, 64, 2}, 0.1F)}}),
            kSumOfTall);
}

TEST_CASE("the gradient of a row that millions of indices name keeps its digits", "[ops]") {
  constexpr std::int64_t kIndices = 4 * kTall;
  GraphBuilder builder;
  const auto values = builder.input("x", {kIndices, 1}), indices = builder.input("i", {kIndices}, DType::int32);
  builder.output("y", scatter_add(values, indices, 1));
  Tensor zeros({kIndices}, DType::int32);
  std::ranges::fill(zeros.mutable_data<std::int32_t>(), 0);
  check_all(result_of(std::move(builder), {{"x", filled({kIndices, 1}, 0.1F)}, {"i", zeros}}), 4.0 * kSumOfTall, 1e-3);
}

TEST_CASE("a cumulative sum goes on growing", "[ops]") {
  for (const std::int64_t ones : {4, 40}) {
    const auto x = filled(Shape{ones + 1}, 1.0F);
    x.mutable_data<float>()[0] = 16'777'216.0F;
    GraphBuilder builder;
    builder.output("y", cumulative_sum(builder.input("x", x.shape()), 0));
    const auto sums = result_of(std::move(builder), {{"x", x}});
    CHECK(sums.data<float>().back() == 16'777'216.0F + static_cast<float>(ones));
  }
}

}  // namespace troupe::ops_test
