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

}  // namespace

std::unique_ptr<Kernel> make_softmax(const OpCall& call) {
  return primitive_kernel(call, [&] {
    const auto rows = rows_of(call.inputs[0].shape);
    const auto chosen = forward_description(rows);
    PrimitiveKernel kernel(SoftmaxForward(chosen), chosen.scratchpad_desc());
    kernel.input(0, DNNL_ARG_SRC, rows).output(0, DNNL_ARG_DST, rows);
    return kernel;
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
