#include "troupe/ops/fused/fused_elementwise.hpp"

#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/device/divide.cuh"
#include "troupe/ops/cuda/device/elements.cuh"
#include "troupe/ops/cuda/device/functions.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"

namespace troupe::cuda {

namespace {

/// A step of a formula: an op on values[a] and values[b], where `values` are the inputs and the results of earlier
/// steps for one element; see Evaluate. An op with one operand uses values[a]. `numbers` are the constants of the op,
/// such as the factor of `scale`.
struct Step {
  FormulaOp op;
  std::uint8_t a, b;
  float numbers[2];

  __device__ float operator()(float x, float y) const {
    switch (op) {
      case FormulaOp::add:
        return Add{}(x, y);
      case FormulaOp::sub:
        return Subtract{}(x, y);
      case FormulaOp::mul:
        return Multiply{}(x, y);
      case FormulaOp::div:
        return Divide{}(x, y);
      case FormulaOp::scale:
        return Scale{numbers[0]}(x);
      case FormulaOp::relu:
        return Relu{}(x);
      case FormulaOp::relu_grad:
        return ReluGrad{}(x, y);
      case FormulaOp::exp:
        return Exp{}(x);
      case FormulaOp::log:
        return Log{}(x);
      case FormulaOp::sqrt:
        return Sqrt{}(x);
      case FormulaOp::rsqrt:
        return Rsqrt{}(x);
      case FormulaOp::abs:
        return Abs{}(x);
      case FormulaOp::abs_grad:
        return AbsGrad{}(x, y);
      case FormulaOp::pow:
        return numbers[0] == 2.0F ? Square{}(x) : Pow{numbers[0]}(x);
      case FormulaOp::clip:
        return Clip{numbers[0], numbers[1]}(x);
      case FormulaOp::clip_grad:
        return ClipGrad{numbers[0], numbers[1]}(x, y);
      case FormulaOp::tanh:
        return Tanh{}(x);
      case FormulaOp::tanh_grad:
        return TanhGrad{}(x, y);
      case FormulaOp::sigmoid:
        return Sigmoid{}(x);
      case FormulaOp::sigmoid_grad:
        return SigmoidGrad{}(x, y);
      case FormulaOp::gelu:
        return Gelu{}(x);
      case FormulaOp::gelu_grad:
        return GeluGrad{}(x, y);
      case FormulaOp::silu:
        return Silu{}(x);
      case FormulaOp::silu_grad:
        return SiluGrad{}(x, y);
      case FormulaOp::softplus:
        return Softplus{}(x);
      case FormulaOp::gelu_tanh:
        return GeluTanh{}(x);
      case FormulaOp::gelu_tanh_grad:
        return GeluTanhGrad{}(x, y);
      case FormulaOp::at_least:
        return AtLeast{numbers[0]}(x);
    }
    return x;
  }
};

/// An input of the formula. If it has fewer elements than the result, its elements repeat along the result.
template <class T>
struct Operand {
  const T* x;
  Divisor elements;
  bool repeats;

  __device__ float at(std::int64_t i) const {
    return load(x, repeats ? i - elements.quotient(i) * elements.divisor() : i);
  }
};

/// Computes one element of the result. `values` begins with kMostInputs places for the elements of the inputs; the
/// results of the steps follow.
template <class T>
struct Evaluate {
  static constexpr int kMostInputs = Formula::kMostInputs, kMostSteps = Formula::kMostSteps;

  Step steps[kMostSteps];
  Operand<T> operands[kMostInputs];
  int step_count, operand_count;
  T* y;

  __device__ void operator()(std::int64_t i) const {
    float values[kMostInputs + kMostSteps];
    for (int k = 0; k < kMostInputs; ++k)
      if (k < operand_count) values[k] = operands[k].at(i);
    float result = 0.0F;
    for (int k = 0; k < step_count; ++k) {
      result = steps[k](values[steps[k].a], values[steps[k].b]);
      values[kMostInputs + k] = result;
    }
    store(y, i, result);
  }
};

template <class T>
Evaluate<T> prepare(const OpCall& call) {
  Evaluate<T> prepared{};
  const auto inputs = static_cast<int>(call.inputs.size());
  const auto place_of = [&](int operand) {
    return static_cast<std::uint8_t>(operand < inputs ? operand : operand - inputs + Evaluate<T>::kMostInputs);
  };
  for (const auto& step : Formula::from(call.attributes).steps)
    prepared.steps[prepared.step_count++] = {
        step.op, place_of(step.operands[0]), place_of(step.operands[1]), {step.numbers[0], step.numbers[1]}};
  const auto all = call.outputs[0].shape.elements();
  for (const auto& info : call.inputs) {
    const auto elements = info.shape.elements();
    prepared.operands[prepared.operand_count++] = {nullptr, Divisor(elements, all), elements != all};
  }
  return prepared;
}

}  // namespace

std::unique_ptr<Kernel> make_fused_elementwise(const OpCall& call) {
  return with_float_type(call.outputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    return cuda_kernel(call, [evaluate = prepare<T>(call)](const Launch& where, Inputs in, Outputs out) mutable {
      for (std::size_t i = 0; i < in.size(); ++i) evaluate.operands[i].x = data_of<T>(in[i]);
      evaluate.y = mutable_data_of<T>(out[0]);
      for_each(where, out[0].elements(), evaluate);
    });
  });
}

}  // namespace troupe::cuda
