#pragma once

#include <vector>

#include "troupe/ops/cpu/onednn.hpp"

namespace troupe::cpu {

/// A kernel that runs one oneDNN primitive, with the tensors of the call as its arguments (DNNL_ARG_...). A tensor
/// whose layout differs from that of the primitive is reordered in scratch memory: an input before the primitive runs,
/// an output after.
class PrimitiveKernel final : public Kernel {
 public:
  PrimitiveKernel(dnnl::primitive primitive, const dnnl::memory::desc& scratchpad);

  PrimitiveKernel& input(std::size_t tensor, int kind, const dnnl::memory::desc& layout);
  PrimitiveKernel& output(std::size_t tensor, int kind, const dnnl::memory::desc& layout);
  /// Binds a tensor whose layout is `plain` to an argument whose layout is `layout`.
  PrimitiveKernel& input(std::size_t tensor, int kind, const dnnl::memory::desc& plain,
                         const dnnl::memory::desc& layout);
  PrimitiveKernel& output(std::size_t tensor, int kind, const dnnl::memory::desc& plain,
                          const dnnl::memory::desc& layout);
  /// Replaces output 0 by max(output, 0) at the end.
  PrimitiveKernel& relu_at_end(bool enabled);

  std::size_t scratch_bytes() const override { return scratch_bytes_; }
  void run(const KernelContext& context, std::span<const Tensor> inputs, std::span<const Tensor> outputs) override;

 private:
  /// An argument of a call and the tensor that it takes.
  struct Argument {
    std::size_t tensor;
    std::size_t index;        // index of the argument in the OnednnCall
    std::size_t reorder = 0;  // index of its reorder plus 1; 0: none
  };
  /// The conversion of a tensor to the layout that the primitive prefers.
  struct Reorder {
    OnednnCall call;
    std::size_t from, to, own_scratch;
    std::size_t copy_at, scratch_at;  // offsets in scratch memory
  };
  std::size_t add_reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to, std::size_t copy_bytes);
  std::size_t reserve(std::size_t bytes);
  void reorder(Reorder& reorder, const void* from, const void* to, std::byte* scratch);

  std::size_t scratch_bytes_ = 0;
  OnednnCall call_;
  std::size_t scratchpad_, scratchpad_at_;
  std::vector<Argument> inputs_, outputs_;
  std::vector<Reorder> reorders_;
  bool relu_at_end_ = false;
};

/// Makes a kernel by `make`, and turns oneDNN's exceptions into an Error that names the op and its shapes.
template <class Make>
std::unique_ptr<Kernel> primitive_kernel(const OpCall& call, Make make) {
  try {
    onednn_engine();
    return std::make_unique<PrimitiveKernel>(make());
  } catch (const dnnl::error& error) {
    OpInputs{call.op->name, call.inputs, call.attributes}.refuse(std::string("oneDNN refuses it: ") + error.what());
  }
}

}  // namespace troupe::cpu
