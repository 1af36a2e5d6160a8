#pragma once

#include <optional>
#include <vector>

#include "troupe/ops/cpu/onednn.hpp"

namespace troupe::cpu {

/// A kernel that runs one oneDNN primitive, with the tensors of the call as its arguments (DNNL_ARG_...). A tensor
/// whose layout differs from that of the primitive is reordered in scratch memory: an input before the primitive runs,
/// an output after.
class PrimitiveKernel final : public Kernel {
 public:
  PrimitiveKernel(dnnl::primitive primitive, const Layout& scratchpad);

  /// Passes input, or output, number `tensor` of the call to the primitive as the argument `kind` (DNNL_ARG_...). The
  /// tensor has the layout `plain`, the argument the layout `layout`.
  PrimitiveKernel& input(std::size_t tensor, int kind, const Layout& plain, const Layout& layout);
  PrimitiveKernel& output(std::size_t tensor, int kind, const Layout& plain, const Layout& layout);
  PrimitiveKernel& input(std::size_t tensor, int kind, const Layout& layout) {
    return input(tensor, kind, layout, layout);
  }
  PrimitiveKernel& output(std::size_t tensor, int kind, const Layout& layout) {
    return output(tensor, kind, layout, layout);
  }
  /// Makes every run apply a relu to output 0 after the primitive and the conversions of outputs. `dtype`, float32 or
  /// bfloat16, is the dtype of output 0.
  void relu_at_end(DType dtype) { relu_at_end_ = dtype; }

  std::size_t scratch_bytes() const override { return scratch_bytes_; }
  void run(const KernelContext& context, std::span<const Tensor> inputs, std::span<const Tensor> outputs) override;

 private:
  /// The conversion of an input from its own layout to that of the primitive, or of an output from the layout of the
  /// primitive to its own.
  struct Conversion {
    OnednnCall call;
    // Offsets in scratch memory: of the copy of the tensor in the primitive's layout, and of the memory in which `call`
    // works.
    std::size_t copy_at, scratch_at;
  };
  /// An argument of the primitive, and the input or output of the call that is passed as this argument.
  struct Argument {
    std::size_t tensor;
    std::size_t index;  // index of the argument in the OnednnCall
    std::optional<Conversion> conversion;
  };
  std::optional<Conversion> make_conversion(const Layout& from, const Layout& to, std::size_t copy_bytes);
  std::size_t reserve(std::size_t bytes);

  std::size_t scratch_bytes_ = 0;
  OnednnCall call_;  // argument 0 is the primitive's scratch memory
  std::size_t scratchpad_at_;
  std::vector<Argument> inputs_, outputs_;
  std::optional<DType> relu_at_end_;  // the dtype of output 0
};

/// Returns the PrimitiveKernel that `make` makes. If `make` throws an exception of oneDNN, throws an Error that names
/// the op and its shapes.
template <class Make>
std::unique_ptr<Kernel> primitive_kernel(const OpCall& call, Make make) {
  return onednn_kernel(call, [&] { return std::make_unique<PrimitiveKernel>(make()); });
}

}  // namespace troupe::cpu
