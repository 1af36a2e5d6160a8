#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/ops/core/tensor_info.hpp"
#include "troupe/ops/graph/attributes.hpp"

namespace troupe {

class GraphBuilder;
class Value;

/// Arguments of a shape rule.
struct OpInputs {
  std::string_view op;
  std::span<const TensorInfo> infos;
  const Attributes& attributes;

  std::size_t size() const { return infos.size(); }
  const TensorInfo& operator[](std::size_t i) const { return infos[i]; }
  const Shape& shape(std::size_t i) const { return infos[i].shape; }

  /// Throws Error that names the op, `what` and every input.
  [[noreturn]] void refuse(std::string_view what) const;
  /// Refuses unless there are `least` to `most` inputs.
  void expect_count(std::size_t least, std::size_t most) const;
  /// Refuses unless input i has the dtype.
  void expect_dtype(std::size_t i, DType dtype) const;
  /// Refuses unless input i is float32 or a 16-bit float.
  void expect_float(std::size_t i) const;
  /// Refuses unless input i has the rank.
  void expect_rank(std::size_t i, std::size_t rank) const;
  /// Refuses unless input i, which is called `what`, has exactly this shape and dtype.
  void expect_info(std::size_t i, const TensorInfo& info, std::string_view what) const;
  /// Refuses unless input i can be a batch info, int64[4]: rows, global rows, first global row, step.
  void expect_batch_info(std::size_t i) const;
};

/// Shape rule of ops with one input, of any float, and an output like it.
std::vector<TensorInfo> infer_like_input(const OpInputs& inputs);
/// Shape rule of ops with two inputs of one shape and one dtype, any float, and an output like them.
std::vector<TensorInfo> infer_like_both_inputs(const OpInputs& inputs);

/// The axis that the attribute `axis` names. Refuses one that input `i` does not
/// have, and the batch axis unless `batch_too`.
std::size_t axis_of(const OpInputs& inputs, std::size_t i = 0, bool batch_too = false);

struct OpCall;
struct OpGradient;

/// How an op writes its outputs.
enum class OpKind {
  compute,     ///< a kernel fills new memory
  view,        ///< output 0 is the memory of input 0 under another shape; resolved before anything runs
  source,      ///< input, parameter or constant: no inputs, no kernel
  update,      ///< output i overwrites parameter input i; kept even if nothing reads the output
  pack,        ///< one block of memory whose parts are the inputs; a kernel copies the parts not already in place
  collective,  ///< done by a communicator, not by a kernel
};

/// The backends in which the kernels of an op take 16-bit floats.
enum class HalfKernels { none, gpu, all };

/// The part of an op in a graph that is computed in 16-bit floats; see compute_in (ops/passes/passes.hpp).
enum class HalfRole {
  none,                 ///< takes and gives float32
  product,              ///< takes 16 bits for speed
  follows,              ///< takes 16 bits if all its inputs that derive from the batch have them
  activation_gradient,  ///< follows the inputs behind the first, which the activation has read or given
  reads,                ///< takes any float and gives float32
};

/// The declaration of an op: everything about it but its kernels.
struct OpDef {
  std::string_view name;
  OpKind kind = OpKind::compute;
  /// Shape rule: infers the outputs, or throws Error by OpInputs::refuse.
  std::vector<TensorInfo> (*infer)(const OpInputs& inputs) = nullptr;
  /// Gradient rule: adds nodes that compute the gradient of every input (an invalid Value: it has none). Null: the op
  /// has none, because its result is an integer or it is itself part of a backward pass.
  std::vector<Value> (*gradient)(const OpGradient& args) = nullptr;
  /// True if its kernel accepts tensors without elements. Other ops get no kernel for such a call; their outputs are
  /// empty or zero.
  bool accepts_empty = false;
  /// Multiplications with an addition in a call whose shapes are concrete, for ops that do far more of them than they
  /// touch elements. Null: others.
  std::int64_t (*multiply_adds)(const OpCall& call) = nullptr;
  HalfKernels half = HalfKernels::none;
  /// Losses and metrics consist of exponentials, logarithms, sigmoids and comparisons, for which 16 bits are too few, so
  /// these ops have no role though their kernels take 16 bits.
  HalfRole role = HalfRole::none;
};

/// Registers an op under its name, so that find_op knows it; builders do not need that. `op` must live until the
/// process ends. Throws Error if the name is taken or empty, or if the op has no shape rule. Thread-safe.
void register_op(const OpDef& op);
/// The registered op of that name. Throws Error if there is none. Thread-safe.
const OpDef& find_op(std::string_view name);
/// The ops of the library in the order of op_list.def. They are registered from the start.
std::span<const OpDef* const> built_in_ops();

}  // namespace troupe
