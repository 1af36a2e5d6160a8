#include "troupe/tests/ops/graph/run_graph.hpp"

#include <map>
#include <string>

#include "troupe/ops/core/random.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe::ops_test {

namespace {

/// The elements of a source before the first run.
Tensor first_numbers(const std::string& name, const TensorInfo& info, std::int64_t rows) {
  Tensor tensor(info.shape.with_rows(rows), info.dtype);
  if (info.dtype != DType::float32) return tensor;
  std::uint64_t seed = 1, i = 0;
  for (const auto letter : name) seed = 31 * seed + static_cast<std::uint64_t>(letter);
  for (auto& x : tensor.mutable_data<float>()) x = 2.0F * uniform(seed, 0, i++) - 1.0F;
  return tensor;
}

}  // namespace

std::vector<Tensor> run_graph(const Graph& graph, std::int64_t rows, Device device) {
  constexpr std::int64_t kRuns = 3;
  Program program(graph, rows, device);
  std::map<std::string, Tensor> bound;
  for (const auto& node : graph.nodes()) {
    if (!node.is(kInput) && !node.is(kParameter)) continue;
    bound[node.name] = first_numbers(node.name, graph.info(node.outputs[0]), rows).to(device);
    program.bind(node.name, bound[node.name]);
  }
  for (std::int64_t run = 0; run < kRuns; ++run) {
    if (bound.contains(GraphBuilder::kBatchInfo)) {
      const std::vector<std::int64_t> info{rows, rows, 0, run};
      program.bind(GraphBuilder::kBatchInfo, Tensor::from<std::int64_t>({4}, info).to(device));
    }
    program.run();
  }
  std::vector<Tensor> results;
  for (const auto& [name, tensor] : bound) results.push_back(tensor.to(Device{}));
  for (const auto& named : graph.outputs()) results.push_back(program.output(named.name).to(Device{}));
  return results;
}

}  // namespace troupe::ops_test
