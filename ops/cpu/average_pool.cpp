#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/primitive_kernel.hpp"

namespace troupe::cpu {

namespace {

dnnl::memory::desc image_description(const Shape& s) {
  return describe({s[0], s[3], s[1], s[2]}, Tag::nhwc);
}

/// Rows or columns of padding that the last window reaches into, which is not all of it if the stride skips some.
std::int64_t padding_behind(std::int64_t length, std::int64_t pooled, const Attributes& attributes) {
  return (pooled - 1) * attributes.integer("stride") + attributes.integer("kernel_size") - length -
         attributes.integer("padding");
}

dnnl::pooling_forward::primitive_desc forward_description(const Shape& x, const Shape& y,
                                                          const Attributes& attributes) {
  const Dims strides(2, attributes.integer("stride")), kernel(2, attributes.integer("kernel_size")),
      padding(2, attributes.integer("padding")),
      behind{padding_behind(x[1], y[1], attributes), padding_behind(x[2], y[2], attributes)};
  return {{dnnl::prop_kind::forward_training, dnnl::algorithm::pooling_avg_exclude_padding, image_description(x),
           image_description(y), strides, kernel, padding, behind},
          scratch_attributes(),
          onednn_engine()};
}

}  // namespace

std::unique_ptr<Kernel> make_average_pool(const OpCall& call) {
  return primitive_kernel(call, [&] {
    const auto chosen = forward_description(call.inputs[0].shape, call.outputs[0].shape, call.attributes);
    PrimitiveKernel kernel(dnnl::pooling_forward(chosen), chosen.scratchpad_desc());
    kernel.input(0, DNNL_ARG_SRC, chosen.src_desc()).output(0, DNNL_ARG_DST, chosen.dst_desc());
    return kernel;
  });
}

std::unique_ptr<Kernel> make_average_pool_grad(const OpCall& call) {
  return primitive_kernel(call, [&] {
    const auto& attributes = call.attributes;
    const auto& x = call.outputs[0].shape;
    const auto& y = call.inputs[0].shape;
    const Dims strides(2, attributes.integer("stride")), kernel_size(2, attributes.integer("kernel_size")),
        padding(2, attributes.integer("padding")),
        behind{padding_behind(x[1], y[1], attributes), padding_behind(x[2], y[2], attributes)};
    const dnnl::pooling_backward::primitive_desc chosen(
        {dnnl::algorithm::pooling_avg_exclude_padding, image_description(x), image_description(y), strides, kernel_size,
         padding, behind},
        scratch_attributes(), onednn_engine(), forward_description(x, y, attributes));
    PrimitiveKernel kernel(dnnl::pooling_backward(chosen), chosen.scratchpad_desc());
    kernel.input(0, DNNL_ARG_DIFF_DST, chosen.diff_dst_desc()).output(0, DNNL_ARG_DIFF_SRC, chosen.diff_src_desc());
    return kernel;
  });
}

}  // namespace troupe::cpu
