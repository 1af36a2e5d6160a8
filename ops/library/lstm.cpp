#include "troupe/ops/library/lstm.hpp"

#include "troupe/ops/graph/kernel.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/library/slice.hpp"

namespace troupe {

namespace {

// The shape rule of lstm. Inputs: gates, weights, initial hidden state, initial cell. Outputs: the initial hidden state
// followed by the hidden states after each of the T time steps [B, T + 1, H], the same for the cells [B, T + 1, H], and
// the gates after their activations, in an order of each device's own. The gradient rule uses only the last time step
// of the gradient of the cells: only lstm() adds this op, and lstm() returns only the last cell.
std::vector<TensorInfo> infer_lstm(const OpInputs& inputs) {
  inputs.expect_dtypes({DType::float32, DType::float32, DType::float32, DType::float32});
  inputs.expect_rank(0, 3);
  inputs.expect_rank(1, 2);
  const auto& gates = inputs.shape(0);
  const auto size = inputs.shape(1)[0];
  if (size < 1 || inputs.shape(1)[1] != 4 * size) inputs.refuse("the weights must be [H, 4 H]");
  if (gates[2] != 4 * size || gates[1] < 1) inputs.refuse("the gates must be [B, T, 4 H]");
  for (std::size_t i = 2; i < 4; ++i) inputs.expect_info(i, {Shape{gates[0], size}, DType::float32}, "a state");
  const TensorInfo states{Shape{gates[0], gates[1] + 1, size}, DType::float32};
  return {states, states, inputs[0]};
}

std::vector<Value> grad_lstm(const OpGradient& g) {
  const auto states = g.outputs[0].shape();
  const auto times = states[1] - 1;
  if (g.dys[2].valid()) throw Error("lstm", "the gates after their activations cannot be differentiated");
  const auto zeros = [&](const Shape& ones, Value like) {
    return broadcast_to(g.builder.constant(Tensor(ones, DType::float32)), like);
  };
  const auto dh = g.dys[0].valid() ? g.dys[0] : zeros({1, 1, 1}, g.outputs[0]);
  const auto dc =
      g.dys[1].valid() ? reshape(slice(g.dys[1], 1, times, 1), {states[0], states[2]}) : zeros({1, 1}, g.inputs[3]);
  const auto gradients = g.builder.apply(kLstmGrad, {dh, dc, g.inputs[1], g.outputs[1], g.outputs[2]});
  const auto dgates = gradients[0];
  const auto hidden_before = slice(g.outputs[0], 1, 0, times);
  return {dgates, outer_sum(hidden_before, dgates), gradients[1], gradients[2]};
}

std::int64_t multiply_adds_of_lstm(const OpCall& call) {
  return call.inputs[0].shape.elements() * call.inputs[1].shape[0];
}
std::int64_t multiply_adds_of_lstm_grad(const OpCall& call) {
  return call.outputs[0].shape.elements() * call.inputs[2].shape[0];
}

}  // namespace

const OpDef kLstm{.name = "lstm", .infer = infer_lstm, .gradient = grad_lstm, .multiply_adds = multiply_adds_of_lstm};
// Inputs: the gradients of the hidden states (output 0 of lstm) [B, T + 1, H] and of the last cell [B, H], the weights,
// the cells (output 1 of lstm), and the gates after their activations (output 2). Outputs: the gradients of the gates
// before their activations, of the initial hidden state and of the initial cell.
const OpDef kLstmGrad{
    .name = "lstm_grad", .infer = infer_like<5, 4, 1, 1>, .multiply_adds = multiply_adds_of_lstm_grad};

LstmOutputs lstm(Value gates, Value weights, Value hidden, Value cell) {
  const auto states = gates.builder().apply(kLstm, {gates, weights, hidden, cell});
  const auto state_shape = hidden.shape();
  const auto times = gates.shape()[1];
  const auto last = [&](Value all_times) { return reshape(slice(all_times, 1, times, 1), state_shape); };
  return {slice(states[0], 1, 1, times), last(states[0]), last(states[1])};
}

}  // namespace troupe
