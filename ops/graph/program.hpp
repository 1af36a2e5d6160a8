#pragma once

#include <memory>
#include <string>
#include <vector>

#include "troupe/ops/graph/graph.hpp"
#include "troupe/ops/graph/kernel.hpp"

namespace troupe {

/// The OpCall of a node for a batch of `rows` rows.
OpCall call_of(const Graph& graph, const Node& node, std::int64_t rows);

/// A graph prepared to run on one thread for a fixed number of rows: its kernels in order, and their memory. It needs
/// no actors. Tests and tools use it, also as the baseline for actors.
class Program {
 public:
  /// Throws Error if an op has no kernel for the device, or needs a communicator.
  Program(Graph graph, std::int64_t rows, Device device = {});

  /// Sets the memory of an input or a parameter, before the first run or between runs. Throws Error if the tensor does
  /// not have the shape and dtype of the value or does not lie on the program's device.
  void bind(const std::string& name, const Tensor& tensor);
  /// Releases the tensor of an input or a parameter. Another one must be bound before the next run.
  void unbind(const std::string& name);
  /// Runs every kernel and blocks until all are complete. Throws Error if an input or a parameter has no tensor.
  void run();
  /// An output of the graph. Its elements are valid until the next run.
  const Tensor& output(const std::string& name) const;

  /// Bytes of inner values and scratch memory.
  std::size_t memory_bytes() const { return memory_bytes_; }

  /// A node with a kernel, in the order of the graph.
  struct Step {
    std::string name;
    const OpDef* op;
    std::unique_ptr<Kernel> kernel;  // null if an input or output is empty
    const Node* node;
    std::vector<Tensor> inputs, outputs;
  };
  const std::vector<Step>& steps() const { return steps_; }
  /// Launches the kernel of step i, after the first run().
  void run_step(std::size_t i);

 private:
  /// Gives the inner values their memory.
  void plan_values();
  void make_steps();
  /// The value of an input or a parameter.
  ValueId source(const std::string& name) const;
  /// Sets the tensors of all steps and outputs.
  void wire();
  /// Drops the tensors of all steps, so that none refers to memory bound earlier.
  void unwire();
  /// Drops the outputs that may refer to memory bound earlier.
  void forget_views();
  Tensor tensor_of(ValueId value) const;
  bool is_on_device(const Tensor& tensor) const;

  Graph graph_;
  std::int64_t rows_;
  Device device_;
  std::vector<Tensor> tensors_;  // by value, empty while unbound
  std::vector<Step> steps_;
  std::unique_ptr<Stream> stream_;
  Tensor scratch_;
  std::size_t memory_bytes_ = 0;
  bool wired_ = false;
};

}  // namespace troupe
