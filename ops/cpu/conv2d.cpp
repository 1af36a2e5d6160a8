#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/primitive_kernel.hpp"

namespace troupe::cpu {

namespace {

// Images are [B, H, W, C], oneDNN's nhwc, and weights are [KH, KW, C, O], oneDNN's hwio; oneDNN's logical order is
// still NCHW and OIHW. Images stay in their layout. Weights are reordered once per call, in scratch memory, into the
// layout that the kernel prefers.
Dims image_sizes(const Shape& s) {
  return {s[0], s[3], s[1], s[2]};
}
dnnl::memory::desc image(const Shape& shape) {
  return describe(image_sizes(shape), Tag::nhwc);
}
/// The attributes of the op in the form of oneDNN.
struct Geometry {
  Dims strides, padding;
  std::int64_t groups;
  explicit Geometry(const Attributes& attributes)
      : strides(2, attributes.integer("stride")),
        padding(2, attributes.integer("padding")),
        groups(attributes.integer("groups")) {}
};

/// Weights [KH, KW, C / groups, O] in their own layout (plain), or in the layout that the kernel prefers (any).
dnnl::memory::desc plain_weights(const Shape& s, const Geometry& geometry) {
  if (geometry.groups == 1) return describe({s[3], s[2], s[0], s[1]}, Tag::hwio);
  const auto filters = s[3] / geometry.groups;
  return describe({geometry.groups, filters, s[2], s[0], s[1]},
                  Dims{filters, 1, s[3], s[1] * s[2] * s[3], s[2] * s[3]});
}
dnnl::memory::desc any_weights(const Shape& s, const Geometry& geometry) {
  if (geometry.groups == 1) return describe({s[3], s[2], s[0], s[1]}, Tag::any);
  return describe({geometry.groups, s[3] / geometry.groups, s[2], s[0], s[1]}, Tag::any);
}

dnnl::convolution_forward::primitive_desc forward_description(const Shape& x, const Shape& w, const Shape& y,
                                                              bool has_bias, const Attributes& attributes) {
  const Geometry geometry(attributes);
  const auto kind = dnnl::prop_kind::forward_training;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  using Forward = dnnl::convolution_forward;
  return has_bias ? choose<Forward>(kind, algorithm, image(x), any_weights(w, geometry), describe({w[3]}, Tag::x),
                                    image(y), geometry.strides, geometry.padding, geometry.padding)
                  : choose<Forward>(kind, algorithm, image(x), any_weights(w, geometry), image(y), geometry.strides,
                                    geometry.padding, geometry.padding);
}

}  // namespace

std::unique_ptr<Kernel> make_conv2d(const OpCall& call) {
  return primitive_kernel(call, [&] {
    const auto& w = call.inputs[1].shape;
    const bool has_bias = call.inputs.size() == 3;
    const Geometry geometry(call.attributes);
    const auto chosen = forward_description(call.inputs[0].shape, w, call.outputs[0].shape, has_bias, call.attributes);
    PrimitiveKernel kernel(dnnl::convolution_forward(chosen), chosen.scratchpad_desc());
    kernel.input(0, DNNL_ARG_SRC, chosen.src_desc())
        .input(1, DNNL_ARG_WEIGHTS, plain_weights(w, geometry), chosen.weights_desc())
        .output(0, DNNL_ARG_DST, chosen.dst_desc());
    if (has_bias) kernel.input(2, DNNL_ARG_BIAS, chosen.bias_desc());
    kernel.relu_at_end(call.attributes.flag("relu"));
    return kernel;
  });
}

std::unique_ptr<Kernel> make_conv2d_grad_data(const OpCall& call) {
  return primitive_kernel(call, [&] {
    const auto& dy = call.inputs[0].shape;
    const auto& w = call.inputs[1].shape;
    const auto& dx = call.outputs[0].shape;
    const Geometry geometry(call.attributes);
    const auto chosen = choose_backward<dnnl::convolution_backward_data>(
        forward_description(dx, w, dy, false, call.attributes), dnnl::algorithm::convolution_direct, image(dx),
        any_weights(w, geometry), image(dy), geometry.strides, geometry.padding, geometry.padding);
    PrimitiveKernel kernel(dnnl::convolution_backward_data(chosen), chosen.scratchpad_desc());
    kernel.input(0, DNNL_ARG_DIFF_DST, chosen.diff_dst_desc())
        .input(1, DNNL_ARG_WEIGHTS, plain_weights(w, geometry), chosen.weights_desc())
        .output(0, DNNL_ARG_DIFF_SRC, chosen.diff_src_desc());
    return kernel;
  });
}

std::unique_ptr<Kernel> make_conv2d_grad_weights(const OpCall& call) {
  return primitive_kernel(call, [&] {
    const auto& x = call.inputs[0].shape;
    const auto& dy = call.inputs[1].shape;
    const auto& w = call.outputs[0].shape;
    const bool has_bias = call.attributes.flag("bias");
    const Geometry geometry(call.attributes);
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const auto forward = forward_description(x, w, dy, has_bias, call.attributes);
    using Backward = dnnl::convolution_backward_weights;
    const auto chosen =
        has_bias ? choose_backward<Backward>(forward, algorithm, image(x), any_weights(w, geometry),
                                             describe({w[3]}, Tag::x), image(dy), geometry.strides, geometry.padding,
                                             geometry.padding)
                 : choose_backward<Backward>(forward, algorithm, image(x), any_weights(w, geometry), image(dy),
                                             geometry.strides, geometry.padding, geometry.padding);
    PrimitiveKernel kernel(dnnl::convolution_backward_weights(chosen), chosen.scratchpad_desc());
    kernel.input(0, DNNL_ARG_SRC, chosen.src_desc())
        .input(1, DNNL_ARG_DIFF_DST, chosen.diff_dst_desc())
        .output(0, DNNL_ARG_DIFF_WEIGHTS, plain_weights(w, geometry), chosen.diff_weights_desc());
    if (has_bias) kernel.output(1, DNNL_ARG_DIFF_BIAS, chosen.diff_bias_desc());
    return kernel;
  });
}

}  // namespace troupe::cpu
