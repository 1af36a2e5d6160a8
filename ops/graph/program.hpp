#pragma once

#include <memory>
#include <string>
#include <vector>

#include "troupe/ops/graph/graph.hpp"
#include "troupe/ops/graph/kernel.hpp"

namespace troupe {

/// The OpCall of a node for batches of `rows` rows.
OpCall call_of(const Graph& graph, const Node& node, std::int64_t rows);

/// A graph prepared to run on the calling thread for a fixed number of rows: the kernels of its nodes in order, and the
/// memory of its values. A program needs no actors. Tests and tools use programs, also as the baseline against which
/// the speed of actors is measured.
class Program {
 public:
  /// Allocates the memory and prepares the kernels. Throws Error if an op has no kernel for the device, or needs a
  /// communicator.
  Program(Graph graph, std::int64_t rows, Device device = {});

  /// Sets the tensor of an input or a parameter, before the first run or between runs. Throws Error if there is no
  /// input or parameter of that name, if the tensor has another shape or dtype than the value, or if the tensor is not
  /// on the program's device; all CPU devices count as one device.
  void bind(const std::string& name, const Tensor& tensor);
  /// Releases the tensor of an input or a parameter. The next run needs another tensor to be bound first.
  void unbind(const std::string& name);
  /// Runs every step in order and blocks until all are complete. Throws Error if an input or a parameter has no tensor,
  /// or if a kernel fails.
  void run();
  /// The tensor of an output of the graph. Must be called after run(). The elements are valid until the next run.
  const Tensor& output(const std::string& name) const;

  /// Bytes of the memory that the program allocates: the values that kernels compute, and the scratch memory. Bound
  /// tensors and constants do not count.
  std::size_t memory_bytes() const { return memory_bytes_; }

  /// A node of the graph that is neither a source nor a view, prepared to run.
  struct Step {
    std::string name;
    const OpDef* op;
    std::unique_ptr<Kernel> kernel;  // null if has_empty_tensor() is true for the OpCall of the node
    const Node* node;
    std::vector<Tensor> inputs, outputs;
  };
  const std::vector<Step>& steps() const { return steps_; }
  /// Launches step i: its kernel, or without a kernel a write of zeros to its outputs, which an update without a kernel
  /// leaves unchanged. Must be called after run(), with no bind() or unbind() since.
  void run_step(std::size_t i);

 private:
  /// Plans and allocates the memory of the values that kernels compute.
  void plan_values();
  void make_steps();
  /// The id of the value of the input, parameter or constant `name`. Throws Error if there is none of that name.
  ValueId source(const std::string& name) const;
  /// Sets the tensors of all steps, and of outputs of the graph. Throws Error if an input or a parameter has no tensor.
  void wire();
  /// Drops the tensors of all steps, so that no step keeps a tensor that was bound earlier.
  void unwire();
  /// Drops the tensors of graph outputs that are views or updates, which may keep memory that was bound earlier.
  void forget_views();
  Tensor tensor_of(ValueId value) const;
  bool is_on_device(const Tensor& tensor) const;

  Graph graph_;
  std::int64_t rows_;
  Device device_;
  std::vector<Tensor> tensors_;  // by value; empty for unbound sources, and for views and updates not set by wire()
  std::vector<Step> steps_;
  std::unique_ptr<Stream> stream_;
  Tensor scratch_;
  std::size_t memory_bytes_ = 0;
  bool wired_ = false;
};

}  // namespace troupe
