#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/primitive_kernel.hpp"

namespace troupe::cpu {

namespace {

dnnl::memory::desc image_description(const Shape& s) {
  return describe({s[0], s[3], s[1], s[2]}, Tag::nhwc);
}

/// The windows of a pooling from images x to images y, with one entry for each of the two axes of an image.
struct Windows {
  Windows(const Shape& x, const Shape& y, const Attributes& attributes)
      : strides(2, attributes.integer("stride")),
        sizes(2, attributes.integer("kernel_size")),
        padding(2, attributes.integer("padding")) {
    // The last window may end before the padding does if the stride skips a part of the padding.
    for (const int axis : {0, 1})
      padding_behind[axis] = (y[1 + axis] - 1) * strides[axis] + sizes[axis] - x[1 + axis] - padding[axis];
  }

  Dims strides, sizes, padding;
  Dims no_dilation = Dims(2, 0), padding_behind = Dims(2, 0);
};

PoolingForward::primitive_desc forward_description(const Shape& x, const Shape& y, const Windows& windows) {
  return choose<PoolingForward>(dnnl::prop_kind::forward_training, dnnl::algorithm::pooling_avg_exclude_padding,
                                image_description(x), image_description(y), windows.strides, windows.sizes,
                                windows.no_dilation, windows.padding, windows.padding_behind);
}

}  // namespace

std::unique_ptr<Kernel> make_average_pool(const OpCall& call) {
  return primitive_kernel(call, [&] {
    const auto& x = call.inputs[0].shape;
    const auto& y = call.outputs[0].shape;
    const auto chosen = forward_description(x, y, Windows(x, y, call.attributes));
    PrimitiveKernel kernel(PoolingForward(chosen), chosen.scratchpad_desc());
    kernel.input(0, DNNL_ARG_SRC, chosen.src_desc()).output(0, DNNL_ARG_DST, chosen.dst_desc());
    return kernel;
  });
}

std::unique_ptr<Kernel> make_average_pool_grad(const OpCall& call) {
  return primitive_kernel(call, [&] {
    const auto& x = call.outputs[0].shape;
    const auto& y = call.inputs[0].shape;
    const Windows windows(x, y, call.attributes);
    const auto chosen = choose_backward<PoolingBackward>(
        forward_description(x, y, windows), dnnl::algorithm::pooling_avg_exclude_padding, image_description(x),
        image_description(y), windows.strides, windows.sizes, windows.no_dilation, windows.padding,
        windows.padding_behind);
    PrimitiveKernel kernel(PoolingBackward(chosen), chosen.scratchpad_desc());
    kernel.input(0, DNNL_ARG_DIFF_DST, chosen.diff_dst_desc()).output(0, DNNL_ARG_DIFF_SRC, chosen.diff_src_desc());
    return kernel;
  });
}

}  // namespace troupe::cpu
