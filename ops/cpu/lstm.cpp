#include <algorithm>

#include "troupe/ops/core/allocator.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/functions.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/onednn.hpp"

namespace troupe::cpu {

namespace {

/// The product of one time step, y = x * weights, where x is [rows, k] and `weights` is [k, n] and lies in memory with
/// `strides`. begin() reorders the weights once, for all time steps, into the layout that oneDNN prefers.
class StepProduct {
 public:
  StepProduct(std::int64_t rows, std::int64_t k, std::int64_t n, const Dims& strides)
      : StepProduct(choose<dnnl::matmul>(describe({rows, k}, Dims{k, 1}), describe({k, n}, Tag::any),
                                         describe({rows, n}, Dims{n, 1})),
                    describe({k, n}, strides)) {}

  std::size_t scratch_bytes() const { return scratch_bytes_; }

  /// Reorders the weights into `scratch`, and makes every following multiply() read x and write y. `scratch` must have
  /// scratch_bytes() bytes.
  void begin(const float* weights, const float* x, const float* y, std::byte* scratch) {
    pack_.call.bind({weights, scratch, scratch + packed_bytes_});
    pack_.call.execute();
    product_.bind({x, scratch, y, scratch + packed_bytes_});
  }
  void multiply() { product_.execute(); }

 private:
  StepProduct(const dnnl::matmul::primitive_desc& chosen, const Layout& weights)
      : pack_(make_reorder(weights, chosen.weights_desc())),
        product_(dnnl::matmul(chosen), {{DNNL_ARG_SRC, chosen.src_desc()},
                                        {DNNL_ARG_WEIGHTS, chosen.weights_desc()},
                                        {DNNL_ARG_DST, chosen.dst_desc()},
                                        {DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc()}}),
        packed_bytes_(Allocator::rounded(chosen.weights_desc().get_size())),
        scratch_bytes_(packed_bytes_ +
                       Allocator::rounded(std::max(pack_.scratch_bytes, chosen.scratchpad_desc().get_size()))) {}

  Reorder pack_;
  OnednnCall product_;
  std::size_t packed_bytes_, scratch_bytes_;
};

/// Computes one row at one time step: the gates after their activations, the new cell and the new hidden state. The
/// gates before their activations are `inputs` + `recurrent`, the terms from the input and from the old hidden state.
/// `size` is the number of elements of a state; the input, forget, cell and output gates follow each other. No array
/// overlaps another one: with so many arrays the compiler makes no test for overlaps, and without __restrict no vector
/// instructions.
TROUPE_SIMD_CLONES void step_row(std::int64_t size, const float* __restrict inputs, const float* __restrict recurrent,
                                 const float* __restrict old_cell, float* __restrict gates, float* __restrict cell,
                                 float* __restrict hidden) {
  for (std::int64_t i = 0; i < 2 * size; ++i) gates[i] = sigmoid_of(inputs[i] + recurrent[i]);
  for (std::int64_t i = 2 * size; i < 3 * size; ++i) gates[i] = tanh_of(inputs[i] + recurrent[i]);
  for (std::int64_t i = 3 * size; i < 4 * size; ++i) gates[i] = sigmoid_of(inputs[i] + recurrent[i]);
  const float *in = gates, *forget = gates + size, *proposed = gates + 2 * size, *out = gates + 3 * size;
  for (std::int64_t i = 0; i < size; ++i) {
    cell[i] = forget[i] * old_cell[i] + in[i] * proposed[i];
    hidden[i] = out[i] * tanh_of(cell[i]);
  }
}

/// Computes the gradient of the gates before their activations, `dgates`, of one row at one time step. The gradient of
/// the new hidden state is `dstate` + `dhidden`, the terms from the output of the op and from the next time step.
/// `dcell` is the gradient of the new cell, and is replaced by the gradient of the old cell. No array overlaps another
/// one, as in step_row().
TROUPE_SIMD_CLONES void step_row_grad(std::int64_t size, const float* __restrict dstate,
                                      const float* __restrict dhidden, const float* __restrict gates,
                                      const float* __restrict cell, const float* __restrict old_cell,
                                      float* __restrict dcell, float* __restrict dgates) {
  const float *in = gates, *forget = gates + size, *proposed = gates + 2 * size, *out = gates + 3 * size;
  for (std::int64_t i = 0; i < size; ++i) {
    const float dh = dstate[i] + dhidden[i];
    const float t = tanh_of(cell[i]);
    const float dc = dcell[i] + dh * out[i] * (1.0F - t * t);
    dgates[i] = dc * proposed[i] * (in[i] * (1.0F - in[i]));
    dgates[size + i] = dc * old_cell[i] * (forget[i] * (1.0F - forget[i]));
    dgates[2 * size + i] = dc * in[i] * (1.0F - proposed[i] * proposed[i]);
    dgates[3 * size + i] = dh * t * (out[i] * (1.0F - out[i]));
    dcell[i] = dc * forget[i];
  }
}

/// The sizes of a call of lstm or lstm_grad, and offsets in the call's tensors: `rows` is B, `times` the number of time
/// steps T, and `size` the number of elements H of a state.
struct Sizes {
  std::int64_t rows, times, size;

  /// The offset of the state of a row in [B, T + 1, H], and that of its gates in [B, T, 4 H], at a time step.
  std::int64_t state(std::int64_t row, std::int64_t time) const { return (row * (times + 1) + time) * size; }
  std::int64_t gates(std::int64_t row, std::int64_t time) const { return (row * times + time) * 4 * size; }
  /// The offset of the gates of a row after their activations. Only lstm_grad reads them, so all those of one time step
  /// lie together.
  std::int64_t activated(std::int64_t row, std::int64_t time) const { return (time * rows + row) * 4 * size; }
};

std::size_t float_bytes(std::int64_t count) {
  return Allocator::rounded(static_cast<std::size_t>(count) * sizeof(float));
}

// The kernel of lstm. The hidden states of the rows at one time step are far apart in output 0. The product therefore
// reads a compact copy of them in scratch memory, and writes the recurrent terms of the gates to scratch memory, too.
class LstmKernel final : public Kernel {
 public:
  explicit LstmKernel(const OpCall& call)
      : s_{call.inputs[0].shape[0], call.inputs[0].shape[1], call.inputs[1].shape[0]},
        product_(s_.rows, s_.size, 4 * s_.size, {4 * s_.size, 1}) {}

  std::size_t scratch_bytes() const override {
    return float_bytes(s_.rows * s_.size) + float_bytes(4 * s_.rows * s_.size) + product_.scratch_bytes();
  }

  void run(const KernelContext& context, Inputs in, Outputs out) override {
    auto* hidden = reinterpret_cast<float*>(context.scratch);
    auto* recurrent = reinterpret_cast<float*>(context.scratch + float_bytes(s_.rows * s_.size));
    auto* states = mutable_floats(out[0]);
    auto* cells = mutable_floats(out[1]);
    copy_floats(floats(in[2]), hidden, s_.rows * s_.size);
    for (std::int64_t row = 0; row < s_.rows; ++row) {
      copy_floats(floats(in[2]) + row * s_.size, states + s_.state(row, 0), s_.size);
      copy_floats(floats(in[3]) + row * s_.size, cells + s_.state(row, 0), s_.size);
    }
    product_.begin(floats(in[1]), hidden, recurrent,
                   context.scratch + float_bytes(s_.rows * s_.size) + float_bytes(4 * s_.rows * s_.size));
    for (std::int64_t time = 0; time < s_.times; ++time) {
      product_.multiply();
      for (std::int64_t row = 0; row < s_.rows; ++row) {
        auto* hidden_row = hidden + row * s_.size;
        step_row(s_.size, floats(in[0]) + s_.gates(row, time), recurrent + 4 * row * s_.size,
                 cells + s_.state(row, time), mutable_floats(out[2]) + s_.activated(row, time),
                 cells + s_.state(row, time + 1), hidden_row);
        copy_floats(hidden_row, states + s_.state(row, time + 1), s_.size);
      }
    }
  }

 private:
  Sizes s_;
  StepProduct product_;
};

// The kernel of lstm_grad. Inputs: the gradients of the hidden states and of the last cell, the weights, the cells, and
// the gates after their activations.
class LstmGradKernel final : public Kernel {
 public:
  explicit LstmGradKernel(const OpCall& call)
      : s_{call.inputs[4].shape[0], call.inputs[4].shape[1], call.inputs[2].shape[0]},
        product_(s_.rows, 4 * s_.size, s_.size, {1, 4 * s_.size}) {}

  std::size_t scratch_bytes() const override { return float_bytes(4 * s_.rows * s_.size) + product_.scratch_bytes(); }

  void run(const KernelContext& context, Inputs in, Outputs out) override {
    auto* compact = reinterpret_cast<float*>(context.scratch);
    auto* dhidden = mutable_floats(out[1]);
    auto* dcell = mutable_floats(out[2]);
    std::ranges::fill(out[1].mutable_data<float>(), 0.0F);
    copy_floats(floats(in[1]), dcell, s_.rows * s_.size);
    product_.begin(floats(in[2]), compact, dhidden, context.scratch + float_bytes(4 * s_.rows * s_.size));
    for (std::int64_t time = s_.times; time-- > 0;) {
      for (std::int64_t row = 0; row < s_.rows; ++row) {
        auto* gates_row = compact + 4 * row * s_.size;
        step_row_grad(s_.size, floats(in[0]) + s_.state(row, time + 1), dhidden + row * s_.size,
                      floats(in[4]) + s_.activated(row, time), floats(in[3]) + s_.state(row, time + 1),
                      floats(in[3]) + s_.state(row, time), dcell + row * s_.size, gates_row);
        copy_floats(gates_row, mutable_floats(out[0]) + s_.gates(row, time), 4 * s_.size);
      }
      product_.multiply();
    }
    for (std::int64_t row = 0; row < s_.rows; ++row)
      for (std::int64_t i = 0; i < s_.size; ++i) dhidden[row * s_.size + i] += floats(in[0])[s_.state(row, 0) + i];
  }

 private:
  Sizes s_;
  StepProduct product_;
};

}  // namespace

std::unique_ptr<Kernel> make_lstm(const OpCall& call) {
  return onednn_kernel(call, [&] { return std::make_unique<LstmKernel>(call); });
}
std::unique_ptr<Kernel> make_lstm_grad(const OpCall& call) {
  return onednn_kernel(call, [&] { return std::make_unique<LstmGradKernel>(call); });
}

}  // namespace troupe::cpu
