#include <algorithm>
#include <map>
#include <set>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/cases/case_runner.hpp"
#include "troupe/tests/ops/support.hpp"

namespace troupe::ops_test {

namespace {

/// One node of the graph of a case, without the graph.
struct Call {
  const OpDef* op;
  std::vector<TensorInfo> inputs;
  Attributes attributes;
};

std::vector<Call> calls_of_all_cases() {
  std::vector<Call> calls;
  const auto add = [&](const Graph& graph) {
    for (const auto& node : graph.nodes()) {
      Call call{node.op, {}, node.attributes};
      for (const auto input : node.inputs) call.inputs.push_back(graph.info(input));
      if (!call.inputs.empty()) calls.push_back(std::move(call));
    }
  };
  for (const auto& op_case : op_cases()) add(case_graph(op_case));
  return calls;
}

/// The op and number of an input. All inputs from the third on count as one, because an op with many treats them alike.
using InputOf = std::pair<std::string_view, std::size_t>;

InputOf input_of(const Call& call, std::size_t input) {
  return {call.op->name, std::min<std::size_t>(input, 2)};
}

/// Inputs of which an op reads only the shape, or nothing.
const std::set<InputOf> kNotRead{{"broadcast_to", 1}, {"control_dependency", 1}, {"rows_of_part", 1}};

/// True if the op accepts the inputs and computes with numbers of the dtype. An op that only moves numbers has the
/// dtype in its results.
bool computes_with(DType dtype, const Call& call, const std::vector<TensorInfo>& inputs) {
  GraphBuilder builder;
  std::vector<Value> values, results;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    values.push_back(builder.input("x" + std::to_string(i), inputs[i].shape, inputs[i].dtype));
  if (!error_of([&] { results = builder.apply(*call.op, values, call.attributes); }).empty()) return false;
  return std::ranges::none_of(results, [&](const Value& result) { return result.dtype() == dtype; });
}

/// The inputs of a call with another dtype for input `changed` and, with `all`, for all inputs of the same dtype.
std::vector<TensorInfo> with_dtype(const Call& call, std::size_t changed, DType dtype, bool all) {
  auto inputs = call.inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (i == changed || (all && call.inputs[i].dtype == call.inputs[changed].dtype)) inputs[i].dtype = dtype;
  return inputs;
}

}  // namespace

TEST_CASE("an op that computes refuses every dtype that no case gives it", "[ops][errors]") {
  const auto calls = calls_of_all_cases();
  std::map<InputOf, std::set<DType>> given;
  for (const auto& call : calls)
    for (std::size_t i = 0; i < call.inputs.size(); ++i) given[input_of(call, i)].insert(call.inputs[i].dtype);
  std::set<std::string> taken;
  for (const auto& call : calls)
    for (std::size_t i = 0; i < call.inputs.size(); ++i)
      for (const auto dtype : {DType::float32, DType::int32, DType::int64, DType::uint8})
        for (const bool all : {false, true}) {
          const auto input = input_of(call, i);
          if (kNotRead.contains(input) || given[input].contains(dtype)) continue;
          if (computes_with(dtype, call, with_dtype(call, i, dtype, all)))
            taken.insert(std::string(input.first) + ", input " + std::to_string(i) + ": " +
                         std::string(name_of(dtype)));
        }
  CHECK(taken == std::set<std::string>());
}

}  // namespace troupe::ops_test
