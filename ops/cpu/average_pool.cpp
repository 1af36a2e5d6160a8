#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/primitive_kernel.hpp"

namespace troupe::cpu {

namespace {

/// An average pooling of images x to images y, as oneDNN describes it. Each member of type Dims has one entry for the
/// height and one for the width of an image.
struct AveragePooling {
  Layout x, y;
  Dims strides, sizes, padding;
  Dims no_dilation = Dims(2, 0), padding_behind = Dims(2, 0);

  AveragePooling(const Shape& x_shape, const Shape& y_shape, const Attributes& attributes)
      : x(images(x_shape)),
        y(images(y_shape)),
        strides(2, attributes.integer("stride")),
        sizes(2, attributes.integer("kernel_size")),
        padding(2, attributes.integer("padding")) {
    // padding_behind is the part of the padding below and to the right that windows cover. It is less than `padding` if
    // the last window does not reach the end of the padding, and negative if that window does not reach the end of the
    // image.
    for (const int axis : {0, 1})
      padding_behind[axis] = (y_shape[1 + axis] - 1) * strides[axis] + sizes[axis] - x_shape[1 + axis] - padding[axis];
  }

  PoolingForward::primitive_desc forward() const {
    return choose<PoolingForward>(dnnl::prop_kind::forward_training, kAlgorithm, x, y, strides, sizes, no_dilation,
                                  padding, padding_behind);
  }
  PoolingBackward::primitive_desc backward() const {
    return choose_backward<PoolingBackward>(forward(), kAlgorithm, x, y, strides, sizes, no_dilation, padding,
                                            padding_behind);
  }

 private:
  static constexpr auto kAlgorithm = dnnl::algorithm::pooling_avg_exclude_padding;
};

}  // namespace

std::unique_ptr<Kernel> make_average_pool(const OpCall& call) {
  return primitive_kernel(call, [&] {
    const auto chosen = AveragePooling(call.inputs[0].shape, call.outputs[0].shape, call.attributes).forward();
    PrimitiveKernel kernel(PoolingForward(chosen), chosen.scratchpad_desc());
    kernel.input(0, DNNL_ARG_SRC, chosen.src_desc()).output(0, DNNL_ARG_DST, chosen.dst_desc());
    return kernel;
  });
}

std::unique_ptr<Kernel> make_average_pool_grad(const OpCall& call) {
  return primitive_kernel(call, [&] {
    const auto chosen = AveragePooling(call.outputs[0].shape, call.inputs[0].shape, call.attributes).backward();
    PrimitiveKernel kernel(PoolingBackward(chosen), chosen.scratchpad_desc());
    kernel.input(0, DNNL_ARG_DIFF_DST, chosen.diff_dst_desc()).output(0, DNNL_ARG_DIFF_SRC, chosen.diff_src_desc());
    return kernel;
  });
}

}  // namespace troupe::cpu
