#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/ops/core/dtype.hpp"
#include "troupe/ops/core/shape.hpp"
#include "troupe/ops/graph/attributes.hpp"

namespace troupe {

class GraphBuilder;
class Value;

/// What a graph knows of a value: its shape, perhaps with a symbolic leading size, and its dtype.
struct TensorInfo {
  Shape shape;
  DType dtype = DType::float32;

  bool operator==(const TensorInfo&) const = default;
};

/// `float32[B, 10]`.
std::string to_string(const TensorInfo& info);

/// What the shape rule of an op sees.
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
  /// Refuses unless input i has the rank.
  void expect_rank(std::size_t i, std::size_t rank) const;
};

struct OpGradient;

/// How an op writes its outputs.
enum class OpKind {
  compute,     ///< a kernel fills new memory
  view,        ///< output 0 is the memory of input 0 under another shape; resolved before anything runs
  source,      ///< input, parameter or constant: no inputs, no kernel
  update,      ///< output i overwrites parameter input i; kept even if nothing reads the output
  pack,        ///< one block of memory whose parts are the inputs; a kernel copies what is not there already
  collective,  ///< done by a communicator, not by a kernel
};

/// The declaration of an op: everything about it but its kernels.
struct OpDef {
  std::string_view name;
  OpKind kind = OpKind::compute;
  /// Shape rule: what the outputs are, or Error by OpInputs::refuse.
  std::vector<TensorInfo> (*infer)(const OpInputs& inputs) = nullptr;
  /// Gradient rule: adds nodes that compute the gradient of every input (an invalid Value: it has none). Null: the op
  /// passes no gradient on, because it has none (an integer result) or is itself part of a backward pass.
  std::vector<Value> (*gradient)(const OpGradient& args) = nullptr;
};

/// The op of that name. Throws Error if there is none.
const OpDef& find_op(std::string_view name);
/// All ops, in the order of the table (op_table.cpp).
std::span<const OpDef* const> all_ops();

}  // namespace troupe
