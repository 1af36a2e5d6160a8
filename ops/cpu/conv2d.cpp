#include <optional>

#include "ops/allocator.hpp"
#include "ops/cpu/kernels.hpp"
#include "ops/cpu/loop_kernel.hpp"
#include "ops/cpu/onednn.hpp"
#include "ops/cpu/relu.hpp"

namespace troupe::cpu {

namespace {

// Images are [B, H, W, C], which oneDNN calls nhwc; weights [KH, KW, C, O], which it calls hwio. oneDNN's logical order
// is NCHW and OIHW all the same. Activations stay as they are; weights are put into the layout that the chosen kernel
// likes, in scratch memory, once a call.
Dims image_sizes(const Shape& s) {
  return {s[0], s[3], s[1], s[2]};
}
Dims weight_sizes(const Shape& s) {
  return {s[3], s[2], s[0], s[1]};
}
dnnl::memory::desc image(const Shape& shape) {
  return describe(image_sizes(shape), Tag::nhwc);
}
dnnl::memory::desc plain_weights(const Shape& shape) {
  return describe(weight_sizes(shape), Tag::hwio);
}
dnnl::memory::desc any_weights(const Shape& shape) {
  return describe(weight_sizes(shape), Tag::any);
}

struct Geometry {
  Dims strides, padding;
  explicit Geometry(const Attributes& attributes)
      : strides(2, attributes.integer("stride")), padding(2, attributes.integer("padding")) {}
};

dnnl::convolution_forward::primitive_desc forward_description(const Shape& x, const Shape& w, const Shape& y,
                                                              bool has_bias, const Attributes& attributes) {
  const Geometry geometry(attributes);
  const auto kind = dnnl::prop_kind::forward_training;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  using Desc = dnnl::convolution_forward::desc;
  const auto operation = has_bias ? Desc(kind, algorithm, image(x), any_weights(w), describe({w[3]}, Tag::x), image(y),
                                         geometry.strides, geometry.padding, geometry.padding)
                                  : Desc(kind, algorithm, image(x), any_weights(w), image(y), geometry.strides,
                                         geometry.padding, geometry.padding);
  return {operation, scratch_attributes(), onednn_engine()};
}

/// Weights in the layout of a primitive, copied from or to the plain layout unless the two are the same.
class WeightLayout {
 public:
  WeightLayout() = default;
  WeightLayout(const dnnl::memory::desc& from, const dnnl::memory::desc& to, const dnnl::memory::desc& chosen)
      : bytes_(from == to ? 0 : Allocator::rounded(chosen.get_size())) {
    if (bytes_ == 0) return;
    const auto& engine = onednn_engine();
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::reorder::primitive_desc description(engine, from, engine, to, attributes);
    scratch_bytes_ = Allocator::rounded(description.scratchpad_desc().get_size());
    reorder_ = OnednnCall(dnnl::reorder(description));
    from_ = reorder_.argument(DNNL_ARG_FROM, from);
    to_ = reorder_.argument(DNNL_ARG_TO, to);
    scratch_ = reorder_.argument(DNNL_ARG_SCRATCHPAD, description.scratchpad_desc());
  }

  /// Scratch memory for the copy, and for copying.
  std::size_t bytes() const { return bytes_ + scratch_bytes_; }
  bool needed() const { return bytes_ > 0; }
  /// The copy lies at the beginning of `scratch`.
  void copy(const void* from, const void* to, std::byte* scratch) {
    reorder_.bind(from_, from);
    reorder_.bind(to_, to);
    reorder_.bind(scratch_, scratch + bytes_);
    reorder_.execute();
  }

 private:
  std::size_t bytes_ = 0, scratch_bytes_ = 0;
  OnednnCall reorder_;
  std::size_t from_ = 0, to_ = 0, scratch_ = 0;
};

class Conv2dKernel final : public Kernel {
 public:
  explicit Conv2dKernel(const OpCall& call)
      : has_bias_(call.inputs.size() == 3), has_relu_(call.attributes.flag("relu")) {
    const auto& w = call.inputs[1].shape;
    const auto chosen = forward_description(call.inputs[0].shape, w, call.outputs[0].shape, has_bias_, call.attributes);
    layout_ = WeightLayout(plain_weights(w), chosen.weights_desc(), chosen.weights_desc());
    scratch_bytes_ = chosen.scratchpad_desc().get_size();
    call_ = OnednnCall(dnnl::convolution_forward(chosen));
    x_ = call_.argument(DNNL_ARG_SRC, chosen.src_desc());
    w_ = call_.argument(DNNL_ARG_WEIGHTS, chosen.weights_desc());
    y_ = call_.argument(DNNL_ARG_DST, chosen.dst_desc());
    scratch_ = call_.argument(DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc());
    if (has_bias_) bias_ = call_.argument(DNNL_ARG_BIAS, chosen.bias_desc());
  }

  std::size_t scratch_bytes() const override { return layout_.bytes() + scratch_bytes_; }

  void run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, std::byte* scratch) override {
    if (layout_.needed()) layout_.copy(inputs[1].raw(), scratch, scratch);
    call_.bind(x_, inputs[0].raw());
    call_.bind(w_, layout_.needed() ? scratch : inputs[1].raw());
    if (has_bias_) call_.bind(bias_, inputs[2].raw());
    call_.bind(y_, outputs[0].raw());
    call_.bind(scratch_, scratch + layout_.bytes());
    call_.execute();
    if (has_relu_) relu(outputs[0].elements(), floats(outputs[0]), mutable_floats(outputs[0]));
  }

 private:
  bool has_bias_, has_relu_;
  std::size_t scratch_bytes_ = 0;
  WeightLayout layout_;
  OnednnCall call_;
  std::size_t x_ = 0, w_ = 0, y_ = 0, scratch_ = 0, bias_ = 0;
};

class Conv2dGradDataKernel final : public Kernel {
 public:
  explicit Conv2dGradDataKernel(const OpCall& call) {
    const auto& dy = call.inputs[0].shape;
    const auto& w = call.inputs[1].shape;
    const auto& dx = call.outputs[0].shape;
    const Geometry geometry(call.attributes);
    const auto hint = forward_description(dx, w, dy, false, call.attributes);
    const dnnl::convolution_backward_data::primitive_desc chosen(
        {dnnl::algorithm::convolution_direct, image(dx), any_weights(w), image(dy), geometry.strides, geometry.padding,
         geometry.padding},
        scratch_attributes(), onednn_engine(), hint);
    layout_ = WeightLayout(plain_weights(w), chosen.weights_desc(), chosen.weights_desc());
    scratch_bytes_ = chosen.scratchpad_desc().get_size();
    call_ = OnednnCall(dnnl::convolution_backward_data(chosen));
    dy_ = call_.argument(DNNL_ARG_DIFF_DST, chosen.diff_dst_desc());
    w_ = call_.argument(DNNL_ARG_WEIGHTS, chosen.weights_desc());
    dx_ = call_.argument(DNNL_ARG_DIFF_SRC, chosen.diff_src_desc());
    scratch_ = call_.argument(DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc());
  }

  std::size_t scratch_bytes() const override { return layout_.bytes() + scratch_bytes_; }

  void run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, std::byte* scratch) override {
    if (layout_.needed()) layout_.copy(inputs[1].raw(), scratch, scratch);
    call_.bind(dy_, inputs[0].raw());
    call_.bind(w_, layout_.needed() ? scratch : inputs[1].raw());
    call_.bind(dx_, outputs[0].raw());
    call_.bind(scratch_, scratch + layout_.bytes());
    call_.execute();
  }

 private:
  std::size_t scratch_bytes_ = 0;
  WeightLayout layout_;
  OnednnCall call_;
  std::size_t dy_ = 0, w_ = 0, dx_ = 0, scratch_ = 0;
};

class Conv2dGradWeightsKernel final : public Kernel {
 public:
  explicit Conv2dGradWeightsKernel(const OpCall& call) : has_bias_(call.attributes.flag("bias")) {
    const auto& x = call.inputs[0].shape;
    const auto& dy = call.inputs[1].shape;
    const auto& w = call.outputs[0].shape;
    const Geometry geometry(call.attributes);
    const auto hint = forward_description(x, w, dy, has_bias_, call.attributes);
    const auto algorithm = dnnl::algorithm::convolution_direct;
    using Desc = dnnl::convolution_backward_weights::desc;
    const auto operation = has_bias_ ? Desc(algorithm, image(x), any_weights(w), describe({w[3]}, Tag::x), image(dy),
                                            geometry.strides, geometry.padding, geometry.padding)
                                     : Desc(algorithm, image(x), any_weights(w), image(dy), geometry.strides,
                                            geometry.padding, geometry.padding);
    const dnnl::convolution_backward_weights::primitive_desc chosen(operation, scratch_attributes(), onednn_engine(),
                                                                    hint);
    layout_ = WeightLayout(chosen.diff_weights_desc(), plain_weights(w), chosen.diff_weights_desc());
    scratch_bytes_ = chosen.scratchpad_desc().get_size();
    call_ = OnednnCall(dnnl::convolution_backward_weights(chosen));
    x_ = call_.argument(DNNL_ARG_SRC, chosen.src_desc());
    dy_ = call_.argument(DNNL_ARG_DIFF_DST, chosen.diff_dst_desc());
    dw_ = call_.argument(DNNL_ARG_DIFF_WEIGHTS, chosen.diff_weights_desc());
    scratch_ = call_.argument(DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc());
    if (has_bias_) db_ = call_.argument(DNNL_ARG_DIFF_BIAS, chosen.diff_bias_desc());
  }

  std::size_t scratch_bytes() const override { return layout_.bytes() + scratch_bytes_; }

  void run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, std::byte* scratch) override {
    call_.bind(x_, inputs[0].raw());
    call_.bind(dy_, inputs[1].raw());
    call_.bind(dw_, layout_.needed() ? scratch : outputs[0].raw());
    if (has_bias_) call_.bind(db_, outputs[1].raw());
    call_.bind(scratch_, scratch + layout_.bytes());
    call_.execute();
    if (layout_.needed()) layout_.copy(scratch, outputs[0].raw(), scratch);
  }

 private:
  bool has_bias_;
  std::size_t scratch_bytes_ = 0;
  WeightLayout layout_;
  OnednnCall call_;
  std::size_t x_ = 0, dy_ = 0, dw_ = 0, scratch_ = 0, db_ = 0;
};

template <class T>
std::unique_ptr<Kernel> make(const OpCall& call) {
  return prepare(call, [&]() -> std::unique_ptr<Kernel> { return std::make_unique<T>(call); });
}

}  // namespace

std::unique_ptr<Kernel> make_conv2d(const OpCall& call) {
  return make<Conv2dKernel>(call);
}
std::unique_ptr<Kernel> make_conv2d_grad_data(const OpCall& call) {
  return make<Conv2dGradDataKernel>(call);
}
std::unique_ptr<Kernel> make_conv2d_grad_weights(const OpCall& call) {
  return make<Conv2dGradWeightsKernel>(call);
}

}  // namespace troupe::cpu
