#include "ops/cpu/kernels.hpp"
#include "ops/cpu/onednn.hpp"
#include "ops/error.hpp"

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

class MaxPoolKernel final : public Kernel {
 public:
  explicit MaxPoolKernel(const OpCall& call) {
    const auto chosen = forward_description(call.attributes, call.inputs[0].shape, call.outputs[0].shape);
    expect_places(call, chosen.workspace_desc(), call.outputs[0].shape);
    scratch_bytes_ = chosen.scratchpad_desc().get_size();
    call_ = OnednnCall(dnnl::pooling_forward(chosen));
    x_ = call_.argument(DNNL_ARG_SRC, chosen.src_desc());
    y_ = call_.argument(DNNL_ARG_DST, chosen.dst_desc());
    places_ = call_.argument(DNNL_ARG_WORKSPACE, chosen.workspace_desc());
    scratch_ = call_.argument(DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc());
  }

  std::size_t scratch_bytes() const override { return scratch_bytes_; }

  void run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, std::byte* scratch) override {
    call_.bind(x_, inputs[0].raw());
    call_.bind(y_, outputs[0].raw());
    call_.bind(places_, outputs[1].raw());
    call_.bind(scratch_, scratch);
    call_.execute();
  }

 private:
  std::size_t scratch_bytes_ = 0;
  OnednnCall call_;
  std::size_t x_ = 0, y_ = 0, places_ = 0, scratch_ = 0;
};

class MaxPoolGradKernel final : public Kernel {
 public:
  explicit MaxPoolGradKernel(const OpCall& call) {
    const auto& dy = call.inputs[0].shape;
    const auto& dx = call.outputs[0].shape;
    const Windows w(call.attributes, dx, dy);
    const auto hint = forward_description(call.attributes, dx, dy);
    expect_places(call, hint.workspace_desc(), dy);
    const dnnl::pooling_backward::primitive_desc chosen(
        {dnnl::algorithm::pooling_max, image(dx), image(dy), w.strides, w.window, w.before, w.after},
        scratch_attributes(), onednn_engine(), hint);
    scratch_bytes_ = chosen.scratchpad_desc().get_size();
    call_ = OnednnCall(dnnl::pooling_backward(chosen));
    dy_ = call_.argument(DNNL_ARG_DIFF_DST, chosen.diff_dst_desc());
    places_ = call_.argument(DNNL_ARG_WORKSPACE, chosen.workspace_desc());
    dx_ = call_.argument(DNNL_ARG_DIFF_SRC, chosen.diff_src_desc());
    scratch_ = call_.argument(DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc());
  }

  std::size_t scratch_bytes() const override { return scratch_bytes_; }

  void run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, std::byte* scratch) override {
    call_.bind(dy_, inputs[0].raw());
    call_.bind(places_, inputs[1].raw());
    call_.bind(dx_, outputs[0].raw());
    call_.bind(scratch_, scratch);
    call_.execute();
  }

 private:
  std::size_t scratch_bytes_ = 0;
  OnednnCall call_;
  std::size_t dy_ = 0, places_ = 0, dx_ = 0, scratch_ = 0;
};

template <class T>
std::unique_ptr<Kernel> make(const OpCall& call) {
  return prepare(call, [&]() -> std::unique_ptr<Kernel> { return std::make_unique<T>(call); });
}

}  // namespace

std::unique_ptr<Kernel> make_max_pool(const OpCall& call) {
  return make<MaxPoolKernel>(call);
}
std::unique_ptr<Kernel> make_max_pool_grad(const OpCall& call) {
  return make<MaxPoolGradKernel>(call);
}

}  // namespace troupe::cpu
