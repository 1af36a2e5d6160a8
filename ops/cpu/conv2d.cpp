#include <algorithm>

#include "troupe/ops/cpu/block_sums.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/in_float32.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/primitive_kernel.hpp"
#include "troupe/ops/cpu/winograd.hpp"

namespace troupe::cpu {

namespace {

/// A convolution of images x to images y, as oneDNN describes it. Images stay in the library's layout, [B, H, W, C].
/// `plain_weights` is the library's layout of the weights, [KH, KW, C / groups, O], with the sizes in oneDNN's order:
/// [O, C, KH, KW] for one group, else [groups, O / groups, C / groups, KH, KW]. `weights` has the same sizes and leaves
/// the layout to oneDNN. If oneDNN chooses another layout, each run reorders the weights, or their gradient, between
/// the two layouts in scratch memory. Images, weights and bias have the dtype of x, and the gradients of weights and
/// bias are float32.
struct Convolution {
  Layout x, weights, bias, y, plain_weights, weight_grads, bias_grads, plain_weight_grads;
  Dims strides, padding;

  Convolution(const TensorInfo& x_info, const Shape& w, const Shape& y_shape, bool has_bias,
              const Attributes& attributes)
      : x(images(x_info.shape, x_info.dtype)),
        y(images(y_shape, x_info.dtype)),
        strides(2, attributes.integer("stride")),
        padding(2, attributes.integer("padding")) {
    if (has_bias) bias = describe({w[3]}, Tag::x, x_info.dtype);
    if (has_bias) bias_grads = describe({w[3]}, Tag::x);
    const auto groups = attributes.integer("groups");
    const auto filters = w[3] / groups;
    const auto sizes = groups == 1 ? Dims{w[3], w[2], w[0], w[1]} : Dims{groups, filters, w[2], w[0], w[1]};
    const auto plain = [&](DType dtype) {
      return groups == 1 ? describe(sizes, Tag::hwio, dtype)
                         : describe(sizes, Dims{filters, 1, w[3], w[1] * w[2] * w[3], w[2] * w[3]}, dtype);
    };
    weights = describe(sizes, Tag::any, x_info.dtype);
    weight_grads = describe(sizes, Tag::any);
    plain_weights = plain(x_info.dtype);
    plain_weight_grads = plain(DType::float32);
  }

  dnnl::convolution_forward::primitive_desc forward() const {
    return choose<dnnl::convolution_forward>(dnnl::prop_kind::forward_training, kAlgorithm, x, weights, bias, y,
                                             strides, padding, padding);
  }
  dnnl::convolution_backward_data::primitive_desc backward_data() const {
    return choose_backward<dnnl::convolution_backward_data>(forward(), kAlgorithm, x, weights, y, strides, padding,
                                                            padding);
  }
  dnnl::convolution_backward_weights::primitive_desc backward_weights() const {
    return choose_backward<dnnl::convolution_backward_weights>(forward(), kAlgorithm, x, weight_grads, bias_grads, y,
                                                               strides, padding, padding);
  }

 private:
  static constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
};

#define TROUPE_ADD_PIXELS(T)                                                                                \
  TROUPE_SIMD_CLONES void add_pixels(std::int64_t pixels, std::int64_t filters, const T* dy, float* sums) { \
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel)                                                   \
      for (std::int64_t i = 0; i < filters; ++i) sums[i] += static_cast<float>(dy[pixel * filters + i]);    \
  }
TROUPE_ADD_PIXELS(float)
TROUPE_ADD_PIXELS(BFloat16)
#undef TROUPE_ADD_PIXELS

/// The gradient of the weights by another kernel, and the gradient of the bias in blocks of pixels: oneDNN adds up all
/// pixels in one float.
class WeightsAndBiasKernel final : public Kernel {
 public:
  WeightsAndBiasKernel(std::unique_ptr<Kernel> weights, std::int64_t pixels, std::int64_t filters)
      : weights_(std::move(weights)),
        sums_(filters, pixels / kPixels + 1, BlockSums::kRowsOfBlock / kPixels),
        pixels_(pixels),
        filters_(filters) {}

  std::size_t scratch_bytes() const override { return weights_->scratch_bytes(); }
  void run(const KernelContext& context, std::span<const Tensor> inputs, std::span<const Tensor> outputs) override {
    weights_->run(context, inputs, outputs);
    sums_.begin(mutable_floats(outputs[1]));
    if (inputs[1].dtype() == DType::float32)
      add_all(floats(inputs[1]));
    else
      add_all(elements<BFloat16>(inputs[1]));
    sums_.finish();
  }

 private:
  template <class T>
  void add_all(const T* dy) {
    for (std::int64_t at = 0; at < pixels_; at += kPixels)
      add_pixels(std::min(kPixels, pixels_ - at), filters_, dy + at * filters_, sums_.next_row());
  }

  static constexpr std::int64_t kPixels = 64;

  std::unique_ptr<Kernel> weights_;
  BlockSums sums_;
  std::int64_t pixels_, filters_;
};

/// True if images are smaller than the stride of their convolution. oneDNN 2.6 with AMX then computes the gradient of
/// the weights in bfloat16 from memory outside of the images.
bool is_below_stride(const Shape& images, const Attributes& attributes) {
  return attributes.integer("stride") > std::min(images[1], images[2]);
}

/// The largest number of pixels that oneDNN adds up to the gradient of a bias.
constexpr std::int64_t kFewPixels = std::int64_t{1} << 16;

}  // namespace

std::unique_ptr<Kernel> make_conv2d(const OpCall& call) {
  if (!has_onednn_dtypes(call)) return in_float32(call, make_conv2d);
  const ConvolutionShapes shapes{call.inputs[0].shape, call.inputs[1].shape, call.outputs[0].shape, call.attributes};
  if (!has_16_bits(call) && is_winograd(shapes)) return make_winograd(shapes);
  return primitive_kernel(call, [&] {
    const bool has_bias = call.inputs.size() == 3;
    const Convolution convolution(call.inputs[0], call.inputs[1].shape, call.outputs[0].shape, has_bias,
                                  call.attributes);
    const auto chosen = convolution.forward();
    PrimitiveKernel kernel(dnnl::convolution_forward(chosen), chosen.scratchpad_desc());
    kernel.input(0, DNNL_ARG_SRC, chosen.src_desc())
        .input(1, DNNL_ARG_WEIGHTS, convolution.plain_weights, chosen.weights_desc())
        .output(0, DNNL_ARG_DST, chosen.dst_desc());
    if (has_bias) kernel.input(2, DNNL_ARG_BIAS, chosen.bias_desc());
    if (call.attributes.flag("relu")) kernel.relu_at_end(call.outputs[0].dtype);
    return kernel;
  });
}

std::unique_ptr<Kernel> make_conv2d_grad_data(const OpCall& call) {
  if (!has_onednn_dtypes(call)) return in_float32(call, make_conv2d_grad_data);
  const ConvolutionShapes shapes{call.outputs[0].shape, call.inputs[1].shape, call.inputs[0].shape, call.attributes};
  if (!has_16_bits(call) && is_winograd(shapes)) return make_winograd_grad_data(shapes);
  return primitive_kernel(call, [&] {
    const Convolution convolution(call.outputs[0], call.inputs[1].shape, call.inputs[0].shape, false, call.attributes);
    const auto chosen = convolution.backward_data();
    PrimitiveKernel kernel(dnnl::convolution_backward_data(chosen), chosen.scratchpad_desc());
    kernel.input(0, DNNL_ARG_DIFF_DST, chosen.diff_dst_desc())
        .input(1, DNNL_ARG_WEIGHTS, convolution.plain_weights, chosen.weights_desc())
        .output(0, DNNL_ARG_DIFF_SRC, chosen.diff_src_desc());
    return kernel;
  });
}

std::unique_ptr<Kernel> make_conv2d_grad_weights(const OpCall& call) {
  if (!has_onednn_dtypes(call) || (has_16_bits(call) && is_below_stride(call.inputs[0].shape, call.attributes)))
    return in_float32(call, make_conv2d_grad_weights);
  const bool has_bias = call.attributes.flag("bias");
  const auto& dy = call.inputs[1].shape;
  const auto pixels = dy.elements() / dy.back(0);
  const ConvolutionShapes shapes{call.inputs[0].shape, call.outputs[0].shape, dy, call.attributes};
  // In bfloat16, direct convolution is faster only on processors that multiply matrices.
  if (is_winograd(shapes) && (!has_16_bits(call) || !has_bfloat16_matrices())) {
    auto weights = make_winograd_grad_weights(shapes, call.inputs[0].dtype);
    if (!has_bias) return weights;
    return std::make_unique<WeightsAndBiasKernel>(std::move(weights), pixels, dy.back(0));
  }
  const bool sums_by_onednn = has_bias && pixels <= kFewPixels;
  const auto make = [&] {
    const Convolution convolution(call.inputs[0], call.outputs[0].shape, call.inputs[1].shape, sums_by_onednn,
                                  call.attributes);
    const auto chosen = convolution.backward_weights();
    PrimitiveKernel kernel(dnnl::convolution_backward_weights(chosen), chosen.scratchpad_desc());
    kernel.input(0, DNNL_ARG_SRC, chosen.src_desc())
        .input(1, DNNL_ARG_DIFF_DST, chosen.diff_dst_desc())
        .output(0, DNNL_ARG_DIFF_WEIGHTS, convolution.plain_weight_grads, chosen.diff_weights_desc());
    if (sums_by_onednn) kernel.output(1, DNNL_ARG_DIFF_BIAS, chosen.diff_bias_desc());
    return kernel;
  };
  if (has_bias == sums_by_onednn) return primitive_kernel(call, make);
  return onednn_kernel(call, [&] {
    return std::make_unique<WeightsAndBiasKernel>(std::make_unique<PrimitiveKernel>(make()), pixels, dy.back(0));
  });
}

}  // namespace troupe::cpu
