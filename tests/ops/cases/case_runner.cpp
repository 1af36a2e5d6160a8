#include "troupe/tests/ops/cases/case_runner.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/half.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/graph/program.hpp"
#include "troupe/ops/library/cast.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/passes/gradient.hpp"

namespace troupe::ops_test {

namespace {

using Random = std::mt19937_64;

/// A uniform number in [0, 1).
double unit(Random& random) {
  return static_cast<double>(random() >> 40) * 0x1.0p-24;
}

double draw_number(Draw draw, Random& random) {
  const auto u = unit(random);
  const auto sign = random() % 2 == 0 ? 1.0 : -1.0;
  switch (draw) {
    case Draw::uniform:
      return 2.0 * u - 1.0;
    case Draw::away_from_zero:
      return sign * (0.1 + 0.9 * u);
    case Draw::positive:
      return 0.1 + 0.9 * u;
    case Draw::near_one:
      return 0.5 + u;
    case Draw::eighths:
      return std::floor(17.0 * u) / 8.0 - 1.0;
    case Draw::off_grid:
      return sign * (2.0 * std::floor(32.0 * u) + 1.0) / 128.0;
    case Draw::large:
      return sign * 10000.0 + 6.0 * unit(random) - 3.0;
    default:
      throw Error("draw_number", "not a draw of single numbers");
  }
}

Array draw(const CaseInput& input, std::int64_t rows, Random& random) {
  Array array(input.shape.with_rows(rows).list());
  const auto n = array.elements();
  if (input.draw == Draw::batch_info) {
    array.data = {static_cast<double>(rows), static_cast<double>(2 * rows + 3), 1.0, static_cast<double>(input.number)};
  } else if (input.draw == Draw::constant) {
    for (auto& x : array.data) x = static_cast<double>(input.number);
  } else if (input.draw == Draw::mask) {
    for (auto& x : array.data) x = static_cast<double>(random() % 2);
  } else if (input.draw == Draw::labels || input.draw == Draw::wide_labels) {
    for (auto& label : array.data) label = static_cast<double>(random() % static_cast<std::uint64_t>(input.number));
  } else if (input.draw == Draw::distinct) {
    for (std::int64_t i = 0; i < n; ++i)
      array.data[static_cast<std::size_t>(i)] = static_cast<double>(i - n / 2) / 64.0;
    std::shuffle(array.data.begin(), array.data.end(), random);
  } else {
    for (auto& x : array.data) x = static_cast<double>(static_cast<float>(draw_number(input.draw, random)));
  }
  return array;
}

/// Rounds all elements to a 16-bit float; other dtypes change nothing.
void round_to(DType dtype, Array& array) {
  for (auto& x : array.data) {
    const auto number = static_cast<float>(x);
    if (dtype == DType::bfloat16) x = static_cast<float>(BFloat16(number));
    if (dtype == DType::float16) x = static_cast<float>(Float16(number));
  }
}

/// Copies elements to a tensor on any device.
void overwrite(const Tensor& tensor, const Tensor& elements) {
  const auto stream = backend_of(tensor.device()).make_stream(tensor.device());
  copy(*stream, elements, tensor);
  stream->record().wait();
}

/// Fills the memory of every result of the program with the bits of a NaN.
void poison(const Program& program) {
  for (const auto& step : program.steps()) {
    if (step.op->kind == OpKind::update) continue;
    for (const auto& output : step.outputs) {
      const Shape bytes{static_cast<std::int64_t>(output.bytes())};
      const Tensor nans(bytes, DType::uint8);
      std::ranges::fill(nans.mutable_data<std::uint8_t>(), 0xFF);
      overwrite(output.view(bytes, DType::uint8, 0), nans);
    }
  }
}

/// Copies of the results whose names begin with `prefix`.
std::vector<Tensor> results(const Graph& graph, const Program& program, const std::string& prefix) {
  std::vector<Tensor> tensors;
  for (const auto& named : graph.outputs())
    if (named.name.starts_with(prefix)) tensors.push_back(program.output(named.name).to(Device{}));
  return tensors;
}

}  // namespace

Arrays draw_inputs(const OpCase& op_case, std::int64_t rows, DType compute) {
  Random random(static_cast<std::uint64_t>(rows) + 1);
  Arrays inputs;
  for (const auto& input : op_case.inputs) {
    inputs.push_back(draw(input, rows, random));
    if (input.dtype() == DType::float32) round_to(compute, inputs.back());
  }
  return inputs;
}

Array draw_weights(const Sizes& sizes, DType compute) {
  Random random(4711);
  auto weights = draw({Shape(sizes)}, 0, random);
  round_to(compute, weights);
  return weights;
}

Graph case_graph(const OpCase& op_case, DType compute) {
  GraphBuilder builder;
  Values inputs;
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
    const auto& input = op_case.inputs[i];
    const auto name = "x" + std::to_string(i);
    inputs.push_back(input.is_parameter ? builder.state(name, input.shape, Initializer::zeros())
                                        : builder.input(name, input.shape, input.dtype()));
  }
  if (is_16_bit(compute))
    for (auto& input : inputs)
      if (input.dtype() == DType::float32) input = cast(input, compute);
  const auto ys = op_case.build(inputs);
  for (std::size_t i = 0; i < ys.size(); ++i)
    builder.output("y" + std::to_string(i), is_16_bit(ys[i].dtype()) ? cast(ys[i], DType::float32) : ys[i]);
  const auto graph = std::move(builder).build();
  return op_case.pass != nullptr ? op_case.pass(graph) : graph;
}

Graph case_gradient_graph(const OpCase& op_case, DType compute) {
  GraphBuilder builder(case_graph(op_case, compute));
  const auto sources = builder.graph().sources(kInput);
  const auto y = builder.value(builder.graph().output("y0"));
  std::vector<std::int64_t> axes;
  for (std::size_t axis = 0; axis < y.shape().rank(); ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  const auto loss = reduce_sum(mul(y, builder.input("dy", y.shape())), axes);
  Values wrt;
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (op_case.inputs[i].differentiable) wrt.push_back(builder.value(sources[i]));
  const auto dxs = gradients(loss, wrt);
  for (std::size_t i = 0; i < dxs.size(); ++i) builder.output("dx" + std::to_string(i), dxs[i]);
  return std::move(builder).build();
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && (a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

CaseResult run_case(const Graph& graph, const std::string& prefix, const Arrays& inputs, const Array& weights,
                    std::int64_t rows, Device device) {
  Program program(graph, rows, device);
  std::vector<std::pair<Tensor, Tensor>> bound_and_saved;
  for (const auto& node : graph.nodes()) {
    if (!node.is(kInput) && !node.is(kParameter)) continue;
    const auto& array =
        node.name == "dy" ? weights : inputs.at(static_cast<std::size_t>(std::stoi(node.name.substr(1))));
    const auto saved = to_tensor(array, graph.info(node.outputs[0]).dtype);
    bound_and_saved.emplace_back(saved.to(device), saved);
    program.bind(node.name, bound_and_saved.back().first);
  }
  program.run();
  CaseResult result{results(graph, program, prefix)};
  poison(program);
  // Updates have overwritten their inputs.
  for (const auto& [bound, saved] : bound_and_saved) overwrite(bound, saved);
  program.run();
  const auto second = results(graph, program, prefix);
  result.repeats = std::ranges::equal(result.tensors, second, same_bits);
  return result;
}

Arrays CaseResult::outputs() const {
  Arrays arrays;
  for (const auto& tensor : tensors) arrays.push_back(to_array(tensor));
  return arrays;
}

}  // namespace troupe::ops_test
