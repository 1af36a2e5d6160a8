#include "troupe/ops/cpu/onednn.hpp"

#include <omp.h>

#include <algorithm>

#include "troupe/ops/core/error.hpp"

namespace troupe::cpu {

namespace {

const dnnl::stream& stream_of_thread() {
  thread_local const dnnl::stream stream(onednn_engine());
  return stream;
}

dnnl::memory::data_type type_of(DType dtype) {
  return dtype == DType::bfloat16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

/// Whether the processor has an instruction set, and oneDNN is allowed to use it.
bool may_use(dnnl::cpu_isa isa) {
  // The bits of an instruction set include those of the sets that it contains.
  const auto needed = static_cast<unsigned>(isa);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & needed) == needed;
}

}  // namespace

const dnnl::engine& onednn_engine() {
  thread_local const bool kLimited = [] {
    omp_set_num_threads(1);
    return true;
  }();
  (void)kLimited;
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

Layout describe(const Dims& sizes, Tag tag, DType dtype) {
  return {sizes, type_of(dtype), tag};
}

Layout describe(const Dims& sizes, const Dims& strides, DType dtype) {
  return {sizes, type_of(dtype), strides};
}

Layout images(const Shape& shape, DType dtype) {
  return describe({shape[0], shape[3], shape[1], shape[2]}, Tag::nhwc, dtype);
}

bool has_bfloat16_products() {
  return may_use(dnnl::cpu_isa::avx512_core_bf16);
}

bool has_bfloat16_matrices() {
  return may_use(dnnl::cpu_isa::avx512_core_amx);
}

bool has_onednn_dtypes(const OpCall& call) {
  const auto is_supported = [](const TensorInfo& info) {
    return info.dtype == DType::bfloat16 ? has_bfloat16_products() : info.dtype != DType::float16;
  };
  return std::ranges::all_of(call.inputs, is_supported) && std::ranges::all_of(call.outputs, is_supported);
}

dnnl::primitive_attr scratch_attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

OnednnCall::OnednnCall(dnnl::primitive primitive, Arguments arguments) : primitive_(std::move(primitive)) {
  for (const auto& [kind, description] : arguments) argument(kind, description);
}

std::size_t OnednnCall::argument(int kind, const Layout& description) {
  memories_.push_back(dnnl::memory(description, onednn_engine(), DNNL_MEMORY_NONE));
  arguments_.push_back({kind, memories_.back().get()});
  return memories_.size() - 1;
}

void OnednnCall::bind(std::size_t index, const void* data) {
#if DNNL_VERSION_MAJOR >= 3
  memories_[index].set_data_handle(const_cast<void*>(data));
#else
  memories_[index].set_data_handle(const_cast<void*>(data), stream_of_thread());
#endif
}

void OnednnCall::bind(std::initializer_list<const void*> data) {
  std::size_t index = 0;
  for (const auto* address : data) bind(index++, address);
}

void OnednnCall::execute() {
  const auto status = dnnl_primitive_execute(primitive_.get(), stream_of_thread().get(),
                                             static_cast<int>(arguments_.size()), arguments_.data());
  if (status != dnnl_success)
    throw Error("onednn", "executing a primitive failed with status " + std::to_string(status));
}

Reorder make_reorder(const Layout& from, const Layout& to) {
  const auto& engine = onednn_engine();
  const dnnl::reorder::primitive_desc chosen(engine, from, engine, to, scratch_attributes());
  const auto scratchpad = chosen.scratchpad_desc();
  return {{dnnl::reorder(chosen), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, {DNNL_ARG_SCRATCHPAD, scratchpad}}},
          scratchpad.get_size()};
}

}  // namespace troupe::cpu
