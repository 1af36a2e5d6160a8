#include "ops/cpu/kernels.hpp"
#include "ops/cpu/loop_kernel.hpp"
#include "ops/cpu/onednn.hpp"
#include "ops/cpu/relu.hpp"

namespace troupe::cpu {

namespace {

// Row-major sides with strides for the transposed ones: oneDNN's product packs what it wants packed, nothing is
// reordered.
dnnl::memory::desc side(const Shape& shape, bool transposed) {
  return transposed ? describe({shape[1], shape[0]}, Dims{1, shape[1]})
                    : describe({shape[0], shape[1]}, Dims{shape[1], 1});
}

class MatmulKernel final : public Kernel {
 public:
  explicit MatmulKernel(const OpCall& call)
      : has_bias_(call.inputs.size() == 3), has_relu_(call.attributes.flag("relu")) {
    const auto a = side(call.inputs[0].shape, call.attributes.flag("transpose_a"));
    const auto b = side(call.inputs[1].shape, call.attributes.flag("transpose_b"));
    const auto y = side(call.outputs[0].shape, false);
    const auto n = call.outputs[0].shape[1];
    const auto bias = describe({1, n}, Dims{n, 1});
    const auto operation = has_bias_ ? dnnl::matmul::desc(a, b, bias, y) : dnnl::matmul::desc(a, b, y);
    const dnnl::matmul::primitive_desc chosen(operation, scratch_attributes(), onednn_engine());
    scratch_bytes_ = chosen.scratchpad_desc().get_size();
    call_ = OnednnCall(dnnl::matmul(chosen));
    a_ = call_.argument(DNNL_ARG_SRC, a);
    b_ = call_.argument(DNNL_ARG_WEIGHTS, b);
    y_ = call_.argument(DNNL_ARG_DST, y);
    scratch_ = call_.argument(DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc());
    if (has_bias_) bias_ = call_.argument(DNNL_ARG_BIAS, bias);
  }

  std::size_t scratch_bytes() const override { return scratch_bytes_; }

  void run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, std::byte* scratch) override {
    call_.bind(a_, inputs[0].raw());
    call_.bind(b_, inputs[1].raw());
    if (has_bias_) call_.bind(bias_, inputs[2].raw());
    call_.bind(y_, outputs[0].raw());
    call_.bind(scratch_, scratch);
    call_.execute();
    if (has_relu_) relu(outputs[0].elements(), floats(outputs[0]), mutable_floats(outputs[0]));
  }

 private:
  bool has_bias_, has_relu_;
  std::size_t scratch_bytes_ = 0;
  OnednnCall call_;
  std::size_t a_ = 0, b_ = 0, y_ = 0, scratch_ = 0, bias_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> make_matmul(const OpCall& call) {
  return prepare(call, [&]() -> std::unique_ptr<Kernel> { return std::make_unique<MatmulKernel>(call); });
}

}  // namespace troupe::cpu
