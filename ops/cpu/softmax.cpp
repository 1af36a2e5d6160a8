#include <algorithm>
#include <cstdint>
#include <limits>

#include "troupe/ops/core/simd_clones.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/primitive_kernel.hpp"

namespace troupe::cpu {

namespace {

/// Describes a tensor as one matrix, with a row for each position along the leading axes.
Layout rows_of(const Shape& shape) {
  return describe({shape.elements() / shape.back(0), shape.back(0)}, Tag::ab);
}

constexpr auto kAlgorithm = dnnl::algorithm::softmax_accurate;

SoftmaxForward::primitive_desc forward_description(const Layout& rows) {
  return choose<SoftmaxForward>(dnnl::prop_kind::forward_training, kAlgorithm, rows, rows, 1);
}

/// Counts in integers of 32 bits, as wide as the elements: of a sum of bools the compiler makes a branch per element.
TROUPE_SIMD_CLONES bool has_nan(std::int64_t n, const float* x) {
  std::uint32_t found = 0;
  for (std::int64_t i = 0; i < n; ++i) found |= x[i] != x[i] ? 1U : 0U;
  return found != 0;
}

/// The softmax of oneDNN, which makes an element NaN if the element of the input is NaN or +inf, but the other elements
/// of its row 0. By the formula the whole row is NaN, as in numpy.
class SoftmaxKernel final : public Kernel {
 public:
  SoftmaxKernel(PrimitiveKernel primitive, std::int64_t width) : primitive_(std::move(primitive)), width_(width) {}

  std::size_t scratch_bytes() const override { return primitive_.scratch_bytes(); }
  void run(const KernelContext& context, std::span<const Tensor> inputs, std::span<const Tensor> outputs) override {
    primitive_.run(context, inputs, outputs);
    auto* y = mutable_floats(outputs[0]);
    for (auto* const end = y + outputs[0].elements(); y < end; y += width_)
      if (has_nan(width_, y)) std::fill_n(y, width_, std::numeric_limits<float>::quiet_NaN());
  }

 private:
  PrimitiveKernel primitive_;
  std::int64_t width_;
};

}  // namespace

std::unique_ptr<Kernel> make_softmax(const OpCall& call) {
  return onednn_kernel(call, [&] {
    const auto rows = rows_of(call.inputs[0].shape);
    const auto chosen = forward_description(rows);
    PrimitiveKernel kernel(SoftmaxForward(chosen), chosen.scratchpad_desc());
    kernel.input(0, DNNL_ARG_SRC, rows).output(0, DNNL_ARG_DST, rows);
    return std::make_unique<SoftmaxKernel>(std::move(kernel), call.inputs[0].shape.back(0));
  });
}

std::unique_ptr<Kernel> make_softmax_grad(const OpCall& call) {
  return primitive_kernel(call, [&] {
    const auto rows = rows_of(call.inputs[0].shape);
    const auto chosen = choose_backward<SoftmaxBackward>(forward_description(rows), kAlgorithm, rows, rows, rows, 1);
    PrimitiveKernel kernel(SoftmaxBackward(chosen), chosen.scratchpad_desc());
    kernel.input(0, DNNL_ARG_DIFF_DST, rows).input(1, DNNL_ARG_DST, rows).output(0, DNNL_ARG_DIFF_SRC, rows);
    return kernel;
  });
}

}  // namespace troupe::cpu
