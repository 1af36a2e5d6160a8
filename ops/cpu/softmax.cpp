#include "ops/cpu/kernels.hpp"
#include "ops/cpu/onednn.hpp"

namespace troupe::cpu {

namespace {

Dims flat(const Shape& shape) {
  return {shape.elements() / shape.back(0), shape.back(0)};
}

class SoftmaxKernel final : public Kernel {
 public:
  explicit SoftmaxKernel(const Shape& shape) {
    const dnnl::softmax_forward::primitive_desc chosen(
        {dnnl::prop_kind::forward_training, describe(flat(shape), Tag::ab), 1}, scratch_attributes(), onednn_engine());
    scratch_bytes_ = chosen.scratchpad_desc().get_size();
    call_ = OnednnCall(dnnl::softmax_forward(chosen));
    x_ = call_.argument(DNNL_ARG_SRC, chosen.src_desc());
    y_ = call_.argument(DNNL_ARG_DST, chosen.dst_desc());
    scratch_ = call_.argument(DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc());
  }

  std::size_t scratch_bytes() const override { return scratch_bytes_; }

  void run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, std::byte* scratch) override {
    call_.bind(x_, inputs[0].raw());
    call_.bind(y_, outputs[0].raw());
    call_.bind(scratch_, scratch);
    call_.execute();
  }

 private:
  std::size_t scratch_bytes_ = 0;
  OnednnCall call_;
  std::size_t x_ = 0, y_ = 0, scratch_ = 0;
};

class SoftmaxGradKernel final : public Kernel {
 public:
  explicit SoftmaxGradKernel(const Shape& shape) {
    const auto description = describe(flat(shape), Tag::ab);
    const dnnl::softmax_forward::primitive_desc hint({dnnl::prop_kind::forward_training, description, 1},
                                                     onednn_engine());
    const dnnl::softmax_backward::primitive_desc chosen({description, description, 1}, scratch_attributes(),
                                                        onednn_engine(), hint);
    scratch_bytes_ = chosen.scratchpad_desc().get_size();
    call_ = OnednnCall(dnnl::softmax_backward(chosen));
    dy_ = call_.argument(DNNL_ARG_DIFF_DST, chosen.diff_dst_desc());
    y_ = call_.argument(DNNL_ARG_DST, chosen.dst_desc());
    dx_ = call_.argument(DNNL_ARG_DIFF_SRC, chosen.diff_src_desc());
    scratch_ = call_.argument(DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc());
  }

  std::size_t scratch_bytes() const override { return scratch_bytes_; }

  void run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, std::byte* scratch) override {
    call_.bind(dy_, inputs[0].raw());
    call_.bind(y_, inputs[1].raw());
    call_.bind(dx_, outputs[0].raw());
    call_.bind(scratch_, scratch);
    call_.execute();
  }

 private:
  std::size_t scratch_bytes_ = 0;
  OnednnCall call_;
  std::size_t dy_ = 0, y_ = 0, dx_ = 0, scratch_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> make_softmax(const OpCall& call) {
  return prepare(call,
                 [&]() -> std::unique_ptr<Kernel> { return std::make_unique<SoftmaxKernel>(call.inputs[0].shape); });
}

std::unique_ptr<Kernel> make_softmax_grad(const OpCall& call) {
  return prepare(
      call, [&]() -> std::unique_ptr<Kernel> { return std::make_unique<SoftmaxGradKernel>(call.inputs[0].shape); });
}

}  // namespace troupe::cpu
