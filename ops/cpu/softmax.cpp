#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/primitive_kernel.hpp"

namespace troupe::cpu {

namespace {

/// All rows of any shape as a matrix.
dnnl::memory::desc rows_of(const Shape& shape) {
  return describe({shape.elements() / shape.back(0), shape.back(0)}, Tag::ab);
}

dnnl::softmax_forward::primitive_desc forward_description(const dnnl::memory::desc& rows) {
  return {{dnnl::prop_kind::forward_training, rows, 1}, scratch_attributes(), onednn_engine()};
}

}  // namespace

std::unique_ptr<Kernel> make_softmax(const OpCall& call) {
  return primitive_kernel(call, [&] {
    const auto rows = rows_of(call.inputs[0].shape);
    const auto chosen = forward_description(rows);
    PrimitiveKernel kernel(dnnl::softmax_forward(chosen), chosen.scratchpad_desc());
    kernel.input(0, DNNL_ARG_SRC, rows).output(0, DNNL_ARG_DST, rows);
    return kernel;
  });
}

std::unique_ptr<Kernel> make_softmax_grad(const OpCall& call) {
  return primitive_kernel(call, [&] {
    const auto rows = rows_of(call.inputs[0].shape);
    const dnnl::softmax_backward::primitive_desc chosen({rows, rows, 1}, scratch_attributes(), onednn_engine(),
                                                        forward_description(rows));
    PrimitiveKernel kernel(dnnl::softmax_backward(chosen), chosen.scratchpad_desc());
    kernel.input(0, DNNL_ARG_DIFF_DST, rows).input(1, DNNL_ARG_DST, rows).output(0, DNNL_ARG_DIFF_SRC, rows);
    return kernel;
  });
}

}  // namespace troupe::cpu
