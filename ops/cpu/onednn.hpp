#pragma once

#include <dnnl.hpp>
#include <span>
#include <vector>

#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cpu {

using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;

/// The CPU engine. The first call on a thread makes oneDNN use only that thread there: with more, replicas contend for
/// the cores, and primitives made under different thread counts differ in their bits.
const dnnl::engine& onednn_engine();

/// A float32 description in the given order of axes, or with strides.
dnnl::memory::desc describe(const Dims& sizes, Tag tag);
dnnl::memory::desc describe(const Dims& sizes, const Dims& strides);
/// Attributes of a primitive that takes its scratch memory from us.
dnnl::primitive_attr scratch_attributes();

/// A primitive with its arguments, ready to be run again and again on other memory.
class OnednnCall {
 public:
  OnednnCall() = default;
  explicit OnednnCall(dnnl::primitive primitive) : primitive_(std::move(primitive)) {}

  /// Adds an argument (DNNL_ARG_...); returns its index for bind().
  std::size_t argument(int kind, const dnnl::memory::desc& description);
  void bind(std::size_t index, const void* data);
  /// Runs on the calling thread until done.
  void execute();

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

}  // namespace troupe::cpu
