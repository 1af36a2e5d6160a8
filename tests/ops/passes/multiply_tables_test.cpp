#include <functional>

#include "troupe/ops/core/random.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/graph/print.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/library/activation.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/gather.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/passes/gradient.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/cases/array.hpp"
#include "troupe/tests/ops/graph/run_graph.hpp"

namespace troupe::ops_test {

namespace {

constexpr std::int64_t kTableRows = 5, kIndices = 6, kWidth = 3, kUnits = 4;

using BuildFunction = std::function<void(GraphBuilder&)>;

Graph built(const BuildFunction& build) {
  GraphBuilder builder;
  build(builder);
  return std::move(builder).build();
}

Value indices_of(GraphBuilder& b, std::int64_t count = kIndices) {
  return b.input("indices", {kBatch, count}, DType::int32);
}

/// Adds as outputs y and the gradients, with respect to `sources`, of the sum of y times an input.
void add_gradients(Value y, const std::vector<Value>& sources) {
  auto& b = y.builder();
  b.output("y", y);
  const auto loss = reduce_sum(mul(y, b.input("dy", y.shape())), {0, 1, 2});
  const auto found = gradients(loss, sources);
  for (std::size_t i = 0; i < found.size(); ++i) b.output("d" + std::to_string(i), found[i]);
}

/// The outputs for `rows` samples. All floats are small integers, so that the sums are exact in every order.
std::vector<Tensor> results_of(const Graph& graph, std::int64_t rows) {
  Program program(graph, rows);
  for (const auto& node : graph.nodes()) {
    if (node.op->kind != OpKind::source) continue;
    const auto& info = graph.info(node.outputs[0]);
    const Tensor tensor(info.shape.with_rows(rows), info.dtype);
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      const auto number = uniform_below(kTableRows, node.name.size(), 0, static_cast<std::uint64_t>(i));
      if (info.dtype == DType::int32)
        tensor.mutable_data<std::int32_t>()[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(number);
      else
        tensor.mutable_data<float>()[static_cast<std::size_t>(i)] = static_cast<float>(number) - 2.0F;
    }
    program.bind(node.name, tensor);
  }
  program.run();
  std::vector<Tensor> results;
  for (const auto& named : graph.outputs()) results.push_back(program.output(named.name).clone());
  return results;
}

/// Checks that the graph after the pass has the expected ops and the same results.
void check_tables(const Graph& before, const Ops& expected) {
  const auto after = multiply_tables(before);
  INFO(to_text(after));
  CHECK(ops_of(after) == expected);
  for (const std::int64_t rows : {0, 1, 7}) {
    const auto results = results_of(after, rows), expected_results = results_of(before, rows);
    for (std::size_t i = 0; i < results.size(); ++i)
      CHECK(distance(to_array(results[i]), to_array(expected_results[i])) == 0.0);
  }
}

/// Checks that the pass keeps the graph.
void check_kept(const BuildFunction& build) {
  const auto before = built(build);
  CHECK(ops_of(multiply_tables(before)) == ops_of(before));
}

}  // namespace

TEST_CASE("a small table is multiplied in place of the rows that are gathered from it", "[passes]") {
  const auto dense = [](GraphBuilder& b) {
    const auto table = b.input("table", {kTableRows, kWidth}), w = b.input("weights", {kWidth, kUnits});
    add_gradients(matmul(gather(table, indices_of(b)), w), {table, w});
  };
  check_tables(built(dense),
               {"matmul", "gather", "mul", "reshape", "broadcast_to", "mul", "scatter_add", "outer_sum", "matmul"});
  const auto transposed = [](GraphBuilder& b) {
    const auto table = b.input("table", {kTableRows, kWidth}), w = b.input("weights", {kUnits, kWidth});
    add_gradients(matmul(gather(table, indices_of(b)), w, {.transpose_b = true}), {table, w});
  };
  check_tables(built(transposed),
               {"matmul", "gather", "mul", "reshape", "broadcast_to", "mul", "scatter_add", "outer_sum", "matmul"});
  const auto layer = [](GraphBuilder& b) {
    const auto table = b.input("table", {kTableRows, kWidth}), w = b.input("weights", {kWidth, kUnits});
    b.output("y", relu(add(matmul(gather(table, indices_of(b)), w), b.input("bias", {kUnits}))));
  };
  check_tables(fuse_bias_and_activation(built(layer)), {"matmul", "gather"});
}

TEST_CASE("gathered rows that are read otherwise, too, are multiplied by the table and kept", "[passes]") {
  const auto shared = [](GraphBuilder& b) {
    const auto rows = gather(b.input("table", {kTableRows, kWidth}), indices_of(b));
    b.output("y", matmul(rows, b.input("weights", {kWidth, kUnits})));
    b.output("z", mul(rows, rows));
  };
  check_tables(built(shared), {"gather", "matmul", "gather", "mul"});
}

TEST_CASE("a graph stays as it is if its tables cannot be multiplied", "[passes]") {
  const auto few_indices = [](GraphBuilder& b) {
    const auto table = b.input("table", {kTableRows, kWidth}), w = b.input("weights", {kWidth, kUnits});
    add_gradients(matmul(gather(table, indices_of(b, kTableRows - 1)), w), {table, w});
  };
  check_kept(few_indices);
  const auto row_sparse = [](GraphBuilder& b) {
    const auto table = b.row_sparse_parameter("table", {kTableRows, kWidth}, Initializer::zeros());
    b.output("y", matmul(gather(table, indices_of(b)), b.input("weights", {kWidth, kUnits})));
  };
  check_kept(row_sparse);
  const auto overwritten = [](GraphBuilder& b) {
    const auto table = b.parameter("table", {kTableRows, kWidth}, Initializer::zeros());
    const auto rows = gather(table, indices_of(b));
    b.apply(kAssign, {table, b.input("next", {kTableRows, kWidth})});
    b.output("y", matmul(rows, b.input("weights", {kWidth, kUnits})));
    b.output("dw", outer_sum(rows, b.input("dy", {kBatch, kIndices, kUnits})));
  };
  check_kept(overwritten);
  const auto matrices = [](GraphBuilder& b) {
    const auto table = b.input("table", {kTableRows, kIndices});
    b.output("y", matmul(gather(table, indices_of(b)), b.input("weights", {kBatch, kIndices, kUnits})));
  };
  check_kept(matrices);
}

}  // namespace troupe::ops_test
