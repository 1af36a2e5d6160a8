#include "troupe/ops/core/error.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/primitive_kernel.hpp"

namespace troupe::cpu {

namespace {

dnnl::memory::desc image(const Shape& s) {
  return describe({s[0], s[3], s[1], s[2]}, Tag::nhwc);
}

/// Padding after the last row or column: what the windows reach past the image there; negative if they end before it.
std::int64_t padding_after(std::int64_t size, std::int64_t outputs, const Attributes& attributes) {
  return (outputs - 1) * attributes.integer("stride") + attributes.integer("window") - size -
         attributes.integer("padding");
}

struct Windows {
  Dims strides, window, before, after;
  Windows(const Attributes& attributes, const Shape& x, const Shape& y)
      : strides(2, attributes.integer("stride")),
        window(2, attributes.integer("window")),
        before(2, attributes.integer("padding")),
        after{padding_after(x[1], y[1], attributes), padding_after(x[2], y[2], attributes)} {}
};

dnnl::pooling_forward::primitive_desc forward_description(const Attributes& attributes, const Shape& x,
                                                          const Shape& y) {
  const Windows w(attributes, x, y);
  return {{dnnl::prop_kind::forward_training, dnnl::algorithm::pooling_max, image(x), image(y), w.strides, w.window,
           w.before, w.after},
          scratch_attributes(),
          onednn_engine()};
}

void expect_places(const OpCall& call, const dnnl::memory::desc& places, const Shape& y) {
  if (places.get_size() != static_cast<std::size_t>(y.elements()))
    throw Error(call.op->name, "oneDNN marks the largest elements with other than one byte each");
}

}  // namespace

std::unique_ptr<Kernel> make_max_pool(const OpCall& call) {
  return primitive_kernel(call, [&] {
    const auto chosen = forward_description(call.attributes, call.inputs[0].shape, call.outputs[0].shape);
    expect_places(call, chosen.workspace_desc(), call.outputs[0].shape);
    PrimitiveKernel kernel(dnnl::pooling_forward(chosen), chosen.scratchpad_desc());
    kernel.input(0, DNNL_ARG_SRC, chosen.src_desc())
        .output(0, DNNL_ARG_DST, chosen.dst_desc())
        .output(1, DNNL_ARG_WORKSPACE, chosen.workspace_desc());
    return kernel;
  });
}

std::unique_ptr<Kernel> make_max_pool_grad(const OpCall& call) {
  return primitive_kernel(call, [&] {
    const auto& dy = call.inputs[0].shape;
    const auto& dx = call.outputs[0].shape;
    const Windows w(call.attributes, dx, dy);
    const auto hint = forward_description(call.attributes, dx, dy);
    expect_places(call, hint.workspace_desc(), dy);
    const dnnl::pooling_backward::primitive_desc chosen(
        {dnnl::algorithm::pooling_max, image(dx), image(dy), w.strides, w.window, w.before, w.after},
        scratch_attributes(), onednn_engine(), hint);
    PrimitiveKernel kernel(dnnl::pooling_backward(chosen), chosen.scratchpad_desc());
    kernel.input(0, DNNL_ARG_DIFF_DST, chosen.diff_dst_desc())
        .input(1, DNNL_ARG_WORKSPACE, hint.workspace_desc())
        .output(0, DNNL_ARG_DIFF_SRC, chosen.diff_src_desc());
    return kernel;
  });
}

}  // namespace troupe::cpu
