#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/ops/core/shape.hpp"
#include "troupe/ops/graph/attributes.hpp"

namespace troupe {

class GraphBuilder;
class Value;

/// The arguments of a shape rule: the name of the op, the shapes and dtypes of its inputs, and its attributes. The
/// functions expect_...() throw through refuse().
struct OpInputs {
  std::string_view op;
  std::span<const TensorInfo> infos;
  const Attributes& attributes;

  std::size_t size() const { return infos.size(); }
  const TensorInfo& operator[](std::size_t i) const { return infos[i]; }
  const Shape& shape(std::size_t i) const { return infos[i].shape; }

  /// Throws Error with the name of the op, the message and the shapes and dtypes of all inputs.
  [[noreturn]] void refuse(std::string_view message) const;
  /// Throws Error unless there are `min` to `max` inputs.
  void expect_count(std::size_t min, std::size_t max) const;
  /// Throws Error unless there is one input for each of `dtypes`, in this order.
  void expect_dtypes(std::initializer_list<DType> dtypes) const;
  /// Throws Error unless input i has the dtype.
  void expect_dtype(std::size_t i, DType dtype) const;
  /// Throws Error unless input i is float32 or a 16-bit float.
  void expect_float(std::size_t i) const;
  /// Throws Error unless there are `count` inputs of the same dtype, float32 or a 16-bit float.
  void expect_floats(std::size_t count) const;
  /// Throws Error unless input i has the rank.
  void expect_rank(std::size_t i, std::size_t rank) const;
  /// Throws Error unless input i has exactly this shape and dtype. The error calls the input `name`.
  void expect_info(std::size_t i, const TensorInfo& info, std::string_view name) const;
  /// Throws Error unless input i has the shape and dtype of a batch info, int64[4] (see BatchInfo).
  void expect_batch_info(std::size_t i) const;
};

/// The shape rule of ops with one input, float32 or a 16-bit float, and an output of the same shape and dtype.
std::vector<TensorInfo> infer_like_input(const OpInputs& inputs);
/// The shape rule of ops with two inputs, float32 or a 16-bit float, and an output, all of the same shape and dtype.
std::vector<TensorInfo> infer_like_both_inputs(const OpInputs& inputs);

/// The shape rule of ops with `count` inputs of any shape and dtype. Output i has the shape and dtype of the input
/// whose number is the i-th of `like`.
template <std::size_t count, std::size_t... like>
std::vector<TensorInfo> infer_like(const OpInputs& inputs) {
  inputs.expect_count(count, count);
  return {inputs[like]...};
}

/// Returns the value of the attribute `axis`, an axis of input 0. Throws Error if the input has no such axis or the
/// axis has the size kBatch.
std::size_t axis_of(const OpInputs& inputs);

struct OpCall;
struct OpGradient;

/// The way in which an op gets and writes the memory of its outputs.
enum class OpKind {
  compute,     ///< a kernel writes the outputs to new memory
  view,        ///< output 0 is a part or all of the memory of input 0 under another shape; no kernel runs
  source,      ///< an input, parameter or constant: no inputs and no kernel
  update,      ///< output i overwrites input i, a parameter; passes keep the op even if nothing reads its outputs
  pack,        ///< the output is one block of all inputs; a kernel copies the inputs that lie outside the block
  collective,  ///< a communicator computes the output from the inputs of several replicas; no kernel runs
};

/// The backends whose kernels for an op take 16-bit floats. GPU kernels take them also if the HalfRole is neither
/// `none` nor that of an image norm. The other CPU kernels of built-in ops, except updates, get their 16-bit inputs
/// converted to float32, and their results are rounded (ops/cpu/in_float32.hpp).
enum class HalfKernels { none, gpu, cpu, all };

/// The role of an op when compute_in() (ops/passes/passes.hpp) rewrites a graph to compute in 16-bit floats. An op that
/// does not take 16-bit inputs by its role computes in float32. A *batch input* is an input that is float32 before the
/// rewrite and has the leading size kBatch.
enum class HalfRole {
  none,                 ///< float32 inputs and outputs
  product,              ///< takes 16-bit inputs if all were float32 and at least one is a batch input
  follows,              ///< takes 16-bit inputs if it has batch inputs and the rewrite made all of them 16-bit
  activation_gradient,  ///< like `follows`, but input 0, the gradient of the output, does not count
  image_norm,           ///< with NormDType::narrow like `follows`, with float32 statistics; else like `none`
  image_norm_gradient,  ///< like `image_norm`, but input 0, the gradient of the output, does not count
  reads,                ///< takes float32 or 16-bit inputs and returns float32
};

/// The declaration of an op: all of its properties except the kernels.
struct OpDef {
  std::string_view name;
  OpKind kind = OpKind::compute;
  /// The shape rule. Returns shape and dtype of each output, or throws Error by OpInputs::refuse.
  std::vector<TensorInfo> (*infer)(const OpInputs& inputs) = nullptr;
  /// The gradient rule. Adds nodes and returns the gradient of every input; an invalid Value for an input without a
  /// gradient. Null: the op has no gradient, because its result is an integer or the op is part of a backward pass.
  std::vector<Value> (*gradient)(const OpGradient& args) = nullptr;
  /// True: the kernel accepts tensors without elements. False: a call with such a tensor gets no kernel, and its
  /// outputs are filled with zeros, except those of an update, which keep their values.
  bool accepts_empty = false;
  /// Returns the number of multiply-adds of a call whose shapes do not have the leading size kBatch. Null for an op
  /// whose cost is that of reading and writing its elements.
  std::int64_t (*multiply_adds)(const OpCall& call) = nullptr;
  HalfKernels half = HalfKernels::none;
  /// The role when a graph is rewritten to 16-bit floats. Exponentials, logarithms, sigmoids and comparisons have the
  /// role `none`, even if their kernels take 16 bits: losses and metrics consist of these ops, and 16 bits are too few
  /// for losses and metrics.
  HalfRole role = HalfRole::none;
};

/// True if the GPU kernels, or CPU kernels, of an op take 16-bit floats; see HalfKernels.
constexpr bool gpu_takes_16_bits(const OpDef& op) {
  const bool is_norm = op.role == HalfRole::image_norm || op.role == HalfRole::image_norm_gradient;
  return op.half == HalfKernels::gpu || op.half == HalfKernels::all || (op.role != HalfRole::none && !is_norm);
}
constexpr bool cpu_takes_16_bits(const OpDef& op) {
  return op.half == HalfKernels::cpu || op.half == HalfKernels::all;
}

/// Registers an op under its name for find_op(). GraphBuilder also accepts ops that are not registered. `op` must live
/// until the process ends. Throws Error if the name is taken or empty, or if the op has no shape rule. Thread-safe.
void register_op(const OpDef& op);
/// The registered op named `name`. Throws Error if there is none. Thread-safe.
const OpDef& find_op(std::string_view name);
/// The ops of the library in the order of op_list.def, all of which are registered from the start.
std::span<const OpDef* const> built_in_ops();

}  // namespace troupe
