#include "troupe/ops/cpu/in_float32.hpp"

#include <algorithm>
#include <optional>

#include "troupe/ops/core/allocator.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/fused/fused_elementwise.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe::cpu {

namespace {

TensorInfo widened(TensorInfo info) {
  if (is_16_bit(info.dtype)) info.dtype = DType::float32;
  return info;
}

OpCall widened(OpCall call) {
  for (auto* operands : {&call.inputs, &call.outputs})
    for (auto& info : *operands) info = widened(info);
  return call;
}

/// The kernel of a call with 16-bit floats. Its scratch memory holds the float32 copies of the 16-bit operands and then
/// the scratch memory of the float32 kernel. Runs in the same scratch memory allocate nothing.
class InFloat32 final : public Kernel {
 public:
  InFloat32(const OpCall& call, const KernelFactory& factory) : kernel_(factory(widened(call))) {
    for (std::size_t i = 0; i < call.inputs.size(); ++i) add(inputs_, i, call.inputs[i], widened(call.inputs[i]));
    for (std::size_t i = 0; i < call.outputs.size(); ++i) add(outputs_, i, widened(call.outputs[i]), call.outputs[i]);
  }

  std::size_t scratch_bytes() const override { return copies_bytes_ + kernel_->scratch_bytes(); }
  void run(const KernelContext& context, Inputs inputs, Outputs outputs) override {
    if (scratch_ != context.scratch) place_copies(context.scratch);
    wide_inputs_.assign(inputs.begin(), inputs.end());
    wide_outputs_.assign(outputs.begin(), outputs.end());
    for (auto& [operand, info, copy_at, copy, cast] : inputs_) {
      wide_inputs_[operand] = copy;
      cast->run(context, inputs.subspan(operand, 1), std::span(&copy, 1));
    }
    for (const auto& conversion : outputs_) wide_outputs_[conversion.operand] = conversion.copy;
    kernel_->run({context.stream, context.scratch + copies_bytes_}, wide_inputs_, wide_outputs_);
    for (auto& [operand, info, copy_at, copy, cast] : outputs_)
      cast->run(context, std::span(&copy, 1), outputs.subspan(operand, 1));
    wide_inputs_.clear();
    wide_outputs_.clear();
  }

 private:
  /// A 16-bit operand of the call, its float32 copy, and the kernel that converts one to the other.
  struct Conversion {
    std::size_t operand;
    TensorInfo info;      // shape and dtype of the copy
    std::size_t copy_at;  // offset of the copy in scratch memory
    Tensor copy;
    std::unique_ptr<Kernel> cast;
  };

  void add(std::vector<Conversion>& conversions, std::size_t operand, const TensorInfo& from, const TensorInfo& to) {
    if (from == to) return;
    const TensorInfo copy{from.shape, DType::float32};
    conversions.push_back({operand, copy, copies_bytes_, {}, make_cast({&kCast, {}, {from}, {to}})});
    copies_bytes_ += Allocator::rounded(static_cast<std::size_t>(from.shape.elements()) * sizeof(float));
  }
  /// Makes the copies tensors in the scratch memory, which they do not own.
  void place_copies(std::byte* scratch) {
    for (auto* conversions : {&inputs_, &outputs_})
      for (auto& [operand, info, copy_at, copy, cast] : *conversions)
        copy = Tensor(std::shared_ptr<std::byte>(std::shared_ptr<void>(), scratch + copy_at), info.shape, info.dtype);
    scratch_ = scratch;
  }

  std::unique_ptr<Kernel> kernel_;
  std::vector<Conversion> inputs_, outputs_;
  std::size_t copies_bytes_ = 0;
  std::optional<std::byte*> scratch_;               // the memory of the copies
  std::vector<Tensor> wide_inputs_, wide_outputs_;  // the operands of the float32 kernel in a run
};

/// The kernel of an element-wise call whose operands have one shape. It computes block by block, so that the float32
/// copies stay in the nearest cache.
class InFloat32Blocks final : public Kernel {
 public:
  InFloat32Blocks(const OpCall& call, const KernelFactory& factory)
      : elements_(call.outputs[0].shape.elements()), inputs_(call.inputs.size()), outputs_(call.outputs.size()) {
    if (elements_ >= kBlock) block_ = std::make_unique<InFloat32>(with_elements(call, kBlock), factory);
    if (elements_ % kBlock > 0) rest_ = std::make_unique<InFloat32>(with_elements(call, elements_ % kBlock), factory);
  }

  std::size_t scratch_bytes() const override { return (block_ ? block_ : rest_)->scratch_bytes(); }
  void run(const KernelContext& context, Inputs inputs, Outputs outputs) override {
    for (std::int64_t at = 0; at < elements_; at += kBlock) {
      const auto n = std::min(kBlock, elements_ - at);
      view(inputs, at, n, inputs_);
      view(outputs, at, n, outputs_);
      (n == kBlock ? block_ : rest_)->run(context, inputs_, outputs_);
    }
    for (auto& tensor : inputs_) tensor.release_view();
    for (auto& tensor : outputs_) tensor.release_view();
  }

 private:
  static constexpr std::int64_t kBlock = 4096;

  static OpCall with_elements(OpCall call, std::int64_t elements) {
    for (auto* operands : {&call.inputs, &call.outputs})
      for (auto& info : *operands) info.shape = Shape{elements};
    return call;
  }
  /// Sets `views` to `n` elements of each tensor, from element `at` on.
  static void view(std::span<const Tensor> tensors, std::int64_t at, std::int64_t n, std::vector<Tensor>& views) {
    for (std::size_t i = 0; i < tensors.size(); ++i)
      tensors[i].view_into(views[i], Shape{n}, tensors[i].dtype(),
                           static_cast<std::size_t>(at) * size_of(tensors[i].dtype()));
  }

  std::int64_t elements_;
  std::unique_ptr<Kernel> block_, rest_;  // null without a call of their number of elements
  std::vector<Tensor> inputs_, outputs_;  // views of one block
};

/// True if a call is element-wise and all of its operands have one shape.
bool has_blocks(const OpCall& call) {
  const auto is_like_output = [&](const TensorInfo& input) { return input.shape == call.outputs[0].shape; };
  return is_element_wise(*call.op) && std::ranges::all_of(call.inputs, is_like_output);
}

}  // namespace

std::unique_ptr<Kernel> in_float32(const OpCall& call, const KernelFactory& factory) {
  if (has_blocks(call)) return std::make_unique<InFloat32Blocks>(call, factory);
  return std::make_unique<InFloat32>(call, factory);
}

bool has_16_bits(const OpCall& call) {
  const auto is_narrow = [](const TensorInfo& info) { return is_16_bit(info.dtype); };
  return std::ranges::any_of(call.inputs, is_narrow) || std::ranges::any_of(call.outputs, is_narrow);
}

}  // namespace troupe::cpu
