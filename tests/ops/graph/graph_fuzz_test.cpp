#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/graph/print.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/passes/gradient.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/gpu.hpp"
#include "troupe/tests/ops/cases/case_runner.hpp"
#include "troupe/tests/ops/graph/random_graph.hpp"
#include "troupe/tests/test_device/test_device.hpp"

namespace troupe::ops_test {

namespace {

/// A number from an environment variable, or a default. The tests run TROUPE_FUZZ_GRAPHS graphs, from the seed
/// TROUPE_FUZZ_SEED on.
std::uint64_t from_environment(const char* name, std::uint64_t default_number) {
  const auto* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : default_number;
}

/// The graph with the gradients of its loss with respect to all float sources in it. The gradient of `x0` is the output
/// `dx0`.
Graph with_gradients(const RandomGraph& random, const Graph& graph) {
  GraphBuilder builder(graph);
  std::vector<Value> wrt;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const auto& node = graph.nodes()[i];
    if (!node.is(kInput) && !node.is(kParameter)) continue;
    if (random.differentiable(static_cast<std::size_t>(std::stoi(node.name.substr(1)))))
      wrt.push_back(builder.value(node.outputs[0]));
  }
  const auto dxs = gradients(builder.value(graph.output("loss")), wrt);
  for (std::size_t i = 0; i < wrt.size(); ++i) builder.output("d" + graph.producer(wrt[i].id()).name, dxs[i]);
  return std::move(builder).build();
}

/// The results of a graph from two runs. Between the runs all inner memory is filled with NaN (see
/// CaseResult::repeats).
CaseResult run(const RandomGraph& random, const Graph& graph, Device device) {
  return run_case(graph, "", random.sources(), {}, random.rows(), device);
}

/// The derivative of the loss with respect to one element, or NaN at a kink.
double difference(const RandomGraph& random, Arrays sources, std::size_t i, std::size_t element) {
  constexpr double kStep = 1e-5;
  const auto loss_at = [&](double shift) {
    auto& x = sources[i].data[element];
    const auto saved = x;
    x += shift;
    const auto loss = random.compute(sources).back().data[0];
    x = saved;
    return loss;
  };
  const auto here = loss_at(0.0), above = loss_at(kStep), below = loss_at(-kStep);
  const auto right = (above - here) / kStep, left = (here - below) / kStep;
  const bool kink = std::abs(right - left) > 1e-2 * std::max({1.0, std::abs(right), std::abs(left)});
  return kink ? std::nan("") : (above - below) / (2.0 * kStep);
}

/// Compares some elements of the gradient of source i with finite differences.
void check_gradient(const RandomGraph& random, std::size_t i, const Array& gradient) {
  constexpr std::size_t kProbes = 3;
  double largest = 1.0;
  for (auto element : gradient.data) largest = std::max(largest, std::abs(element));
  const auto stride = std::max<std::size_t>(1, gradient.data.size() / kProbes);
  for (std::size_t element = 0; element < gradient.data.size(); element += stride) {
    const auto expected = difference(random, random.sources(), i, element);
    INFO("gradient of x" << i << ", element " << element);
    if (!std::isnan(expected)) CHECK(std::abs(gradient.data[element] - expected) <= 2e-3 * largest);
  }
}

void check_graph(std::uint64_t seed) {
  const RandomGraph random(seed);
  const auto plain = random.graph();
  const auto graph = with_gradients(random, seed % 2 == 0 ? plain : optimize_forward(plain));
  INFO(to_text(graph));
  const auto result = run(random, graph, Device{});
  CHECK(result.repeats);
  const auto expected = random.compute(random.sources());
  const auto outputs = result.outputs();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("output " << graph.outputs()[i].name);
    CHECK(distance(outputs[i], expected[i]) <= 1e-4);
  }
  for (std::size_t i = expected.size(); i < outputs.size(); ++i)
    check_gradient(random, static_cast<std::size_t>(std::stoi(graph.outputs()[i].name.substr(2))), outputs[i]);
  const auto on_device = run(random, graph, testing::test_device());
  CHECK(std::ranges::equal(on_device.tensors, result.tensors, same_bits));
  const auto optimized = run(random, optimize_for_device(graph), Device{});
  CHECK(std::ranges::equal(optimized.tensors, result.tensors, same_bits));
}

/// Compares the results of a graph on a device in 16 bits with those in float32. Gradients are only checked to be
/// finite, because a pool may choose another element, whose gradient then goes elsewhere. Returns true if some values
/// are 16-bit.
bool check_in_16_bits(std::uint64_t seed, Device device, DType dtype, Graph (*optimize)(const Graph&, DType)) {
  const RandomGraph random(seed);
  const auto plain = random.graph();
  const auto graph = with_gradients(random, optimize_forward(plain));
  const auto narrow = optimize(graph, dtype);
  INFO(to_text(narrow));
  const auto result = run(random, narrow, device);
  CHECK(result.repeats);
  const auto expected = run(random, graph, device).outputs(), actual = result.outputs();
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    INFO("output " << graph.outputs()[i].name << " in " << name_of(dtype));
    if (i < plain.outputs().size())
      CHECK(distance(actual[i], expected[i]) <= (dtype == DType::bfloat16 ? 0x1p-5 : 0x1p-8));
    else
      CHECK(std::isfinite(distance(actual[i], expected[i])));
  }
  return std::ranges::any_of(narrow.values(), [](const ValueDef& value) { return is_16_bit(value.info.dtype); });
}

void check_graphs_in_16_bits(Device device, Graph (*optimize)(const Graph&, DType)) {
  const auto first = from_environment("TROUPE_FUZZ_SEED", 1);
  const auto count = from_environment("TROUPE_FUZZ_GRAPHS", 60);
  std::uint64_t narrowed = 0;
  for (auto seed = first; seed < first + count; ++seed) {
    INFO("seed " << seed << ": TROUPE_FUZZ_SEED=" << seed << " TROUPE_FUZZ_GRAPHS=1");
    if (check_in_16_bits(seed, device, seed % 2 == 0 ? DType::bfloat16 : DType::float16, optimize)) ++narrowed;
  }
  if (count > 1) CHECK(narrowed >= count / 8);
}

}  // namespace

TEST_CASE("random graphs run in 16 bits on a GPU, near float32", "[.gpu]") {
  if (const auto device = testing::gpu()) check_graphs_in_16_bits(*device, optimize_for_device);
}

TEST_CASE("random graphs run in 16 bits on a CPU, near float32", "[fuzz]") {
  check_graphs_in_16_bits(Device{}, optimize_for_host);
}

TEST_CASE("random graphs agree with a plain interpreter and its finite differences", "[fuzz]") {
  const auto first = from_environment("TROUPE_FUZZ_SEED", 1);
  const auto count = from_environment("TROUPE_FUZZ_GRAPHS", 150);
  for (auto seed = first; seed < first + count; ++seed) {
    INFO("seed " << seed << ": TROUPE_FUZZ_SEED=" << seed << " TROUPE_FUZZ_GRAPHS=1");
    check_graph(seed);
  }
}

}  // namespace troupe::ops_test
