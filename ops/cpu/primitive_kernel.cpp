#include "troupe/ops/cpu/primitive_kernel.hpp"

#include "troupe/ops/core/allocator.hpp"
#include "troupe/ops/cpu/map.hpp"

namespace troupe::cpu {

PrimitiveKernel::PrimitiveKernel(dnnl::primitive primitive, const Layout& scratchpad)
    : call_(std::move(primitive), {{DNNL_ARG_SCRATCHPAD, scratchpad}}),
      scratchpad_at_(reserve(scratchpad.get_size())) {}

std::size_t PrimitiveKernel::reserve(std::size_t bytes) {
  const auto at = scratch_bytes_;
  scratch_bytes_ += Allocator::rounded(bytes);
  return at;
}

std::optional<PrimitiveKernel::Conversion> PrimitiveKernel::make_conversion(const Layout& from, const Layout& to,
                                                                            std::size_t copy_bytes) {
  if (from == to) return std::nullopt;
  auto reorder = make_reorder(from, to);
  const auto copy_at = reserve(copy_bytes);
  return Conversion{std::move(reorder.call), copy_at, reserve(reorder.scratch_bytes)};
}

PrimitiveKernel& PrimitiveKernel::input(std::size_t tensor, int kind, const Layout& plain, const Layout& layout) {
  inputs_.push_back({tensor, call_.argument(kind, layout), make_conversion(plain, layout, layout.get_size())});
  return *this;
}

PrimitiveKernel& PrimitiveKernel::output(std::size_t tensor, int kind, const Layout& plain, const Layout& layout) {
  outputs_.push_back({tensor, call_.argument(kind, layout), make_conversion(layout, plain, layout.get_size())});
  return *this;
}

void PrimitiveKernel::run(const KernelContext& context, std::span<const Tensor> inputs,
                          std::span<const Tensor> outputs) {
  auto* scratch = context.scratch;
  for (auto& [tensor, index, conversion] : inputs_) {
    const auto* data = inputs[tensor].address();
    if (conversion) {
      auto* copy = scratch + conversion->copy_at;
      conversion->call.bind({data, copy, scratch + conversion->scratch_at});
      conversion->call.execute();
      data = copy;
    }
    call_.bind(index, data);
  }
  for (const auto& [tensor, index, conversion] : outputs_)
    call_.bind(index, conversion ? scratch + conversion->copy_at : outputs[tensor].address());
  call_.bind(0, scratch + scratchpad_at_);
  call_.execute();
  for (auto& [tensor, index, conversion] : outputs_)
    if (conversion) {
      conversion->call.bind(
          {scratch + conversion->copy_at, outputs[tensor].address(), scratch + conversion->scratch_at});
      conversion->call.execute();
    }
  if (relu_at_end_ == DType::float32)
    relu(outputs[0].elements(), floats(outputs[0]), mutable_floats(outputs[0]));
  else if (relu_at_end_)
    relu(outputs[0].elements(), elements<BFloat16>(outputs[0]), elements<BFloat16>(outputs[0]));
}

}  // namespace troupe::cpu
