#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/device/functions.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/product/product.hpp"

namespace troupe::cuda {

namespace {

/// The sizes of an LSTM: B rows of the batch (`rows`), T time steps (`times`) and H units (`size`).
struct Sizes {
  std::int64_t rows, times, size;

  /// Offsets, in elements, of a row's state before a time step in a tensor [B, T + 1, H], and of the row's gates at the
  /// time step in a tensor [B, T, 4 H].
  __device__ std::int64_t state(std::int64_t row, std::int64_t time) const { return (row * (times + 1) + time) * size; }
  __device__ std::int64_t gates(std::int64_t row, std::int64_t time) const { return (row * times + time) * 4 * size; }
  std::int64_t count() const { return rows * size; }
};

/// Stores the hidden states and the cells before the first time step, and a compact copy of the hidden states.
struct FirstStates {
  Sizes s;
  const float *hidden, *cell;
  float *states, *cells, *compact;

  __device__ void operator()(std::int64_t i) const {
    const auto row = i / s.size, unit = i % s.size;
    states[s.state(row, 0) + unit] = compact[i] = hidden[i];
    cells[s.state(row, 0) + unit] = cell[i];
  }
};

/// Computes one unit of one row at one time step: the gates after their activations, the cell and the hidden state. A
/// gate before its activation is the sum of `inputs`, the part from the sequence, and `recurrent`, the product of the
/// hidden state before the step and the weights.
struct TimeStep {
  Sizes s;
  std::int64_t time;
  const float *inputs, *recurrent;
  float *states, *cells, *gates, *compact;

  __device__ void operator()(std::int64_t i) const {
    const auto row = i / s.size, unit = i % s.size;
    const auto at = s.gates(row, time) + unit;
    const auto sum = [&](int gate) {
      return inputs[at + gate * s.size] + recurrent[4 * row * s.size + gate * s.size + unit];
    };
    const float in = sigmoid_of(sum(0)), forget = sigmoid_of(sum(1)), proposed = tanhf(sum(2)),
                out = sigmoid_of(sum(3));
    gates[at] = in;
    gates[at + s.size] = forget;
    gates[at + 2 * s.size] = proposed;
    gates[at + 3 * s.size] = out;
    const float cell = forget * cells[s.state(row, time) + unit] + in * proposed;
    cells[s.state(row, time + 1) + unit] = cell;
    states[s.state(row, time + 1) + unit] = compact[i] = out * tanhf(cell);
  }
};

/// The forward pass. In the outputs the hidden states of one time step are far apart, so the product of the hidden
/// states and the weights reads a compact copy of them.
class Lstm {
 public:
  explicit Lstm(const OpCall& call)
      : s_{call.inputs[0].shape[0], call.inputs[0].shape[1], call.inputs[1].shape[0]},
        product_(ProductShape{.m = s_.rows, .n = 4 * s_.size, .k = s_.size}) {}

  std::size_t scratch_bytes() const {
    return scratch_bytes_of<float>(s_.count()) + scratch_bytes_of<float>(4 * s_.count()) + product_.workspace_bytes();
  }

  void run(const Launch& where, Inputs in, Outputs out) const {
    ScratchParts parts(where.scratch);
    auto *hidden = parts.take<float>(s_.count()), *recurrent = parts.take<float>(4 * s_.count());
    auto *states = mutable_floats(out[0]), *cells = mutable_floats(out[1]);
    for_each(where, s_.count(), FirstStates{s_, floats(in[2]), floats(in[3]), states, cells, hidden});
    for (std::int64_t time = 0; time < s_.times; ++time) {
      product_.run(where.stream, hidden, floats(in[1]), nullptr, recurrent, parts.rest());
      for_each(where, s_.count(),
               TimeStep{s_, time, floats(in[0]), recurrent, states, cells, mutable_floats(out[2]), hidden});
    }
  }

 private:
  Sizes s_;
  Product product_;
};

/// Sets the gradients with which the pass over the time steps begins at the last one: `dcell` to the given gradient of
/// the last cell, `dhidden` to zero, because no later step depends on the last hidden state.
struct LastGradients {
  const float* dcell_given;
  float *dcell, *dhidden;
  __device__ void operator()(std::int64_t i) const {
    dcell[i] = dcell_given[i];
    dhidden[i] = 0.0F;
  }
};

/// Computes the gradients of one unit of one row at one time step: those of the gates before their activations, in
/// `dgates` and, as a compact copy, in `compact`. `dcell` is the gradient of the cell after the step, and becomes that
/// of the cell before the step. `dhidden` is the gradient that the next step passes to the hidden state.
struct StepGrad {
  Sizes s;
  std::int64_t time;
  const float *dstates, *dhidden, *cells, *gates;
  float *dcell, *dgates, *compact;

  __device__ void operator()(std::int64_t i) const {
    const auto row = i / s.size, unit = i % s.size;
    const auto at = s.gates(row, time) + unit, next = s.state(row, time + 1) + unit;
    const float in = gates[at], forget = gates[at + s.size];
    const float proposed = gates[at + 2 * s.size], out = gates[at + 3 * s.size];
    const float dh = dstates[next] + dhidden[i];
    const float t = tanhf(cells[next]);
    const float dc = dcell[i] + dh * out * (1.0F - t * t);
    store(row, at, unit, 0, dc * proposed * (in * (1.0F - in)));
    store(row, at, unit, 1, dc * cells[s.state(row, time) + unit] * (forget * (1.0F - forget)));
    store(row, at, unit, 2, dc * in * (1.0F - proposed * proposed));
    store(row, at, unit, 3, dh * t * (out * (1.0F - out)));
    dcell[i] = dc * forget;
  }

 private:
  __device__ void store(std::int64_t row, std::int64_t at, std::int64_t unit, int gate, float number) const {
    dgates[at + gate * s.size] = compact[(4 * row + gate) * s.size + unit] = number;
  }
};

/// Adds to `dhidden`, the gradient of the hidden state before the first time step, the element of `dstates` for this
/// state, because the state is also an output of the LSTM.
struct AddFirstState {
  Sizes s;
  const float* dstates;
  float* dhidden;
  __device__ void operator()(std::int64_t i) const { dhidden[i] += dstates[s.state(i / s.size, 0) + i % s.size]; }
};

// The backward pass. Inputs: the gradients of the hidden states and of the last cell, the weights, the cells, and the
// gates after their activations. Outputs: the gradients of the gates before their activations, and of the hidden state
// and the cell before the first time step.
class LstmGrad {
 public:
  explicit LstmGrad(const OpCall& call)
      : s_{call.inputs[4].shape[0], call.inputs[4].shape[1], call.inputs[2].shape[0]},
        product_(ProductShape{.m = s_.rows, .n = s_.size, .k = 4 * s_.size, .transpose_b = true}) {}

  std::size_t scratch_bytes() const { return scratch_bytes_of<float>(4 * s_.count()) + product_.workspace_bytes(); }

  void run(const Launch& where, Inputs in, Outputs out) const {
    ScratchParts parts(where.scratch);
    auto* compact = parts.take<float>(4 * s_.count());
    auto *dhidden = mutable_floats(out[1]), *dcell = mutable_floats(out[2]);
    for_each(where, s_.count(), LastGradients{floats(in[1]), dcell, dhidden});
    for (std::int64_t time = s_.times; time-- > 0;) {
      for_each(where, s_.count(),
               StepGrad{s_, time, floats(in[0]), dhidden, floats(in[3]), floats(in[4]), dcell, mutable_floats(out[0]),
                        compact});
      product_.run(where.stream, compact, floats(in[2]), nullptr, dhidden, parts.rest());
    }
    for_each(where, s_.count(), AddFirstState{s_, floats(in[0]), dhidden});
  }

 private:
  Sizes s_;
  Product product_;
};

}  // namespace

std::unique_ptr<Kernel> make_lstm(const OpCall& call) {
  return object_kernel(call, Lstm(call));
}
std::unique_ptr<Kernel> make_lstm_grad(const OpCall& call) {
  return object_kernel(call, LstmGrad(call));
}

}  // namespace troupe::cuda
