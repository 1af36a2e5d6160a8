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

/// The arguments of a shape rule.
struct OpInputs {
  std::string_view op;
  std::span<const TensorInfo> infos;
  const Attributes& attributes;

  std::size_t size() const { return infos.size(); }
  const TensorInfo& operator[](std::size_t i) const { return infos[i]; }
  const Shape& shape(std::size_t i) const { return infos[i].shape; }

  /// Throws Error with the name of the op, the message and the shapes and dtypes of all inputs.
  [[noreturn]] void refuse(std::string_view message) const;
  /// Refuses unless there are `min` to `max` inputs.
  void expect_count(std::size_t min, std::size_t max) const;
  /// Refuses unless there is one input for each of `dtypes`, in this order.
  void expect_dtypes(std::initializer_list<DType> dtypes) const;
  /// Refuses unless input i has the dtype.
  void expect_dtype(std::size_t i, DType dtype) const;
  /// Refuses unless input i is float32 or a 16-bit float.
  void expect_float(std::size_t i) const;
  /// Refuses unless there are `count` inputs of one dtype, float32 or a 16-bit float.
  void expect_floats(std::size_t count) const;
  /// Refuses unless input i has the rank.
  void expect_rank(std::size_t i, std::size_t rank) const;
  /// Refuses unless input i has exactly this shape and dtype. The error calls the input `name`.
  void expect_info(std::size_t i, const TensorInfo& info, std::string_view name) const;
  /// Refuses unless input i can be a batch info, int64[4] (see BatchInfo).
  void expect_batch_info(std::size_t i) const;
};

/// The shape rule of ops with one input of floats and an output of the same shape and dtype.
std::vector<TensorInfo> infer_like_input(const OpInputs& inputs);
/// The shape rule of ops with two inputs of floats and an output, all of the same shape and dtype.
std::vector<TensorInfo> infer_like_both_inputs(const OpInputs& inputs);

/// The shape rule of ops with `count` inputs whose outputs have the shapes and dtypes of the inputs `like`.
template <std::size_t count, std::size_t... like>
std::vector<TensorInfo> infer_like(const OpInputs& inputs) {
  inputs.expect_count(count, count);
  return {inputs[like]...};
}

/// The value of the attribute `axis`, an axis of input 0. Refuses an axis that the input does not have and the axis of
/// the batch.
std::size_t axis_of(const OpInputs& inputs);

struct OpCall;
struct OpGradient;

/// The way in which an op gets and writes the memory of its outputs.
enum class OpKind {
  compute,     ///< a kernel fills new memory
  view,        ///< output 0 is the memory of input 0 under another shape; views are resolved before anything runs
  source,      ///< an input, parameter or constant: no inputs and no kernel
  update,      ///< output i overwrites input i, a parameter; the op stays even if nothing reads its outputs
  pack,        ///< the output is one block with all inputs; a kernel copies the inputs that do not lie in it already
  collective,  ///< a communicator computes the output, not a kernel
};

/// The backends whose kernels for an op take 16-bit floats. With a HalfRole those for GPUs always do.
enum class HalfKernels { none, gpu, all };

/// The role of an op in a graph that is computed in 16-bit floats; see compute_in (ops/passes/passes.hpp).
enum class HalfRole {
  none,                 ///< takes and gives float32
  product,              ///< takes 16-bit factors for speed
  follows,              ///< takes 16 bits if all inputs that derive from the batch are 16-bit
  activation_gradient,  ///< follows its inputs after dy, which are the input or the result of the activation
  reads,                ///< takes any float and gives float32
};

/// The declaration of an op: all of its properties except the kernels.
struct OpDef {
  std::string_view name;
  OpKind kind = OpKind::compute;
  /// The shape rule. It returns shape and dtype of the outputs, or throws Error by OpInputs::refuse.
  std::vector<TensorInfo> (*infer)(const OpInputs& inputs) = nullptr;
  /// The gradient rule. It adds nodes and returns the gradient of every input; an invalid Value for an input without
  /// one. Null: the op has no gradient, because its result is an integer or it is part of a backward pass.
  std::vector<Value> (*gradient)(const OpGradient& args) = nullptr;
  /// True: the kernel accepts tensors without elements. False: a call with such a tensor gets no kernel, and its
  /// outputs are empty or zero.
  bool accepts_empty = false;
  /// The number of multiply-adds of a call with concrete shapes. Null for ops whose cost is that of reading and writing
  /// their elements.
  std::int64_t (*multiply_adds)(const OpCall& call) = nullptr;
  HalfKernels half = HalfKernels::none;
  /// The role in a graph of 16-bit floats. Exponentials, logarithms, sigmoids and comparisons have none, even if their
  /// kernels take 16 bits: losses and metrics consist of them, for which 16 bits are too few.
  HalfRole role = HalfRole::none;
};

/// Registers an op under its name for find_op. Builders do not need it. `op` must live until the process ends. Throws
/// Error if the name is taken or empty, or if the op has no shape rule. Thread-safe.
void register_op(const OpDef& op);
/// The registered op with a name. Throws Error if there is none. Thread-safe.
const OpDef& find_op(std::string_view name);
/// The ops of the library in the order of op_list.def. They are registered from the start.
std::span<const OpDef* const> built_in_ops();

}  // namespace troupe
