#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/primitive_kernel.hpp"

namespace troupe::cpu {

namespace {

// Row-major matrices, transposed ones by their strides: oneDNN packs them where it must, so nothing is reordered here.
dnnl::memory::desc side(const Shape& shape, bool transposed) {
  return transposed ? describe({shape[1], shape[0]}, Dims{1, shape[1]})
                    : describe({shape[0], shape[1]}, Dims{shape[1], 1});
}

}  // namespace

std::unique_ptr<Kernel> make_matmul(const OpCall& call) {
  return primitive_kernel(call, [&] {
    const auto a = side(call.inputs[0].shape, call.attributes.flag("transpose_a"));
    const auto b = side(call.inputs[1].shape, call.attributes.flag("transpose_b"));
    const auto y = side(call.outputs[0].shape, false);
    const auto n = call.outputs[0].shape[1];
    const auto bias = describe({1, n}, Dims{n, 1});
    const bool has_bias = call.inputs.size() == 3;
    const auto operation = has_bias ? dnnl::matmul::desc(a, b, bias, y) : dnnl::matmul::desc(a, b, y);
    const dnnl::matmul::primitive_desc chosen(operation, scratch_attributes(), onednn_engine());
    PrimitiveKernel kernel(dnnl::matmul(chosen), chosen.scratchpad_desc());
    kernel.input(0, DNNL_ARG_SRC, a).input(1, DNNL_ARG_WEIGHTS, b).output(0, DNNL_ARG_DST, y);
    if (has_bias) kernel.input(2, DNNL_ARG_BIAS, bias);
    kernel.relu_at_end(call.attributes.flag("relu"));
    return kernel;
  });
}

}  // namespace troupe::cpu
