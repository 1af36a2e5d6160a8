#include "troupe/ops/cpu/primitive_kernel.hpp"

#include "troupe/ops/core/allocator.hpp"
#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/relu.hpp"

namespace troupe::cpu {

PrimitiveKernel::PrimitiveKernel(dnnl::primitive primitive, const dnnl::memory::desc& scratchpad)
    : call_(std::move(primitive)),
      scratchpad_(call_.argument(DNNL_ARG_SCRATCHPAD, scratchpad)),
      scratchpad_at_(reserve(scratchpad.get_size())) {}

std::size_t PrimitiveKernel::reserve(std::size_t bytes) {
  const auto at = scratch_bytes_;
  scratch_bytes_ += Allocator::rounded(bytes);
  return at;
}

std::size_t PrimitiveKernel::add_reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to,
                                         std::size_t copy_bytes) {
  if (from == to) return 0;
  const auto& engine = onednn_engine();
  const dnnl::reorder::primitive_desc chosen(engine, from, engine, to, scratch_attributes());
  Reorder reorder{OnednnCall(dnnl::reorder(chosen)), 0, 0, 0, reserve(copy_bytes), 0};
  reorder.from = reorder.call.argument(DNNL_ARG_FROM, from);
  reorder.to = reorder.call.argument(DNNL_ARG_TO, to);
  reorder.own_scratch = reorder.call.argument(DNNL_ARG_SCRATCHPAD, chosen.scratchpad_desc());
  reorder.scratch_at = reserve(chosen.scratchpad_desc().get_size());
  reorders_.push_back(std::move(reorder));
  return reorders_.size();
}

PrimitiveKernel& PrimitiveKernel::input(std::size_t tensor, int kind, const dnnl::memory::desc& layout) {
  return input(tensor, kind, layout, layout);
}

PrimitiveKernel& PrimitiveKernel::output(std::size_t tensor, int kind, const dnnl::memory::desc& layout) {
  return output(tensor, kind, layout, layout);
}

PrimitiveKernel& PrimitiveKernel::input(std::size_t tensor, int kind, const dnnl::memory::desc& plain,
                                        const dnnl::memory::desc& layout) {
  inputs_.push_back({tensor, call_.argument(kind, layout), add_reorder(plain, layout, layout.get_size())});
  return *this;
}

PrimitiveKernel& PrimitiveKernel::output(std::size_t tensor, int kind, const dnnl::memory::desc& plain,
                                         const dnnl::memory::desc& layout) {
  outputs_.push_back({tensor, call_.argument(kind, layout), add_reorder(layout, plain, layout.get_size())});
  return *this;
}

PrimitiveKernel& PrimitiveKernel::relu_at_end(bool enabled) {
  relu_at_end_ = enabled;
  return *this;
}

void PrimitiveKernel::reorder(Reorder& reorder, const void* from, const void* to, std::byte* scratch) {
  reorder.call.bind(reorder.from, from);
  reorder.call.bind(reorder.to, to);
  reorder.call.bind(reorder.own_scratch, scratch + reorder.scratch_at);
  reorder.call.execute();
}

void PrimitiveKernel::run(const KernelContext& context, std::span<const Tensor> inputs,
                          std::span<const Tensor> outputs) {
  auto* scratch = context.scratch;
  const auto copy_of = [&](const Argument& argument) { return scratch + reorders_[argument.reorder - 1].copy_at; };
  for (const auto& argument : inputs_) {
    const auto* data = inputs[argument.tensor].address();
    if (argument.reorder > 0) reorder(reorders_[argument.reorder - 1], data, copy_of(argument), scratch);
    call_.bind(argument.index, argument.reorder > 0 ? copy_of(argument) : data);
  }
  for (const auto& argument : outputs_)
    call_.bind(argument.index, argument.reorder > 0 ? copy_of(argument) : outputs[argument.tensor].address());
  call_.bind(scratchpad_, scratch + scratchpad_at_);
  call_.execute();
  for (const auto& argument : outputs_)
    if (argument.reorder > 0)
      reorder(reorders_[argument.reorder - 1], copy_of(argument), outputs[argument.tensor].address(), scratch);
  if (relu_at_end_) relu(outputs[0].elements(), floats(outputs[0]), mutable_floats(outputs[0]));
}

}  // namespace troupe::cpu
