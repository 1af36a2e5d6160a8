#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "troupe/ops/graph/graph.hpp"
#include "troupe/ops/graph/kernel.hpp"

namespace troupe {

/// The OpCall of a node for a number of rows of the batch.
OpCall call_of(const Graph& graph, const Node& node, std::int64_t rows);

/// A graph prepared to run on one thread for a fixed number of rows: its kernels in order, and their memory. No actor
/// is involved; it serves tests and tools, and as the baseline for actors.
class Program {
 public:
  /// Throws Error if an op has no kernel on the device.
  Program(Graph graph, std::int64_t rows, Device device = {});

  /// Sets the memory of an input or a parameter, before the first run. The tensor must have the shape of the value and
  /// lie on the program's device.
  void bind(const std::string& name, const Tensor& tensor);
  /// Lets go of what was bound: nothing here refers to its memory, and another must be bound before the next run.
  void unbind(const std::string& name);
  /// Runs every kernel and blocks until all are complete. Throws Error if an input or a parameter has no memory.
  void run();
  /// A result, valid until the next run.
  const Tensor& output(const std::string& name) const;

  /// Bytes of inner values and scratch memory.
  std::size_t memory_bytes() const { return memory_bytes_; }

  struct Step {
    std::string name;
    const OpDef* op;
    std::unique_ptr<Kernel> kernel;  // none: an input or output is empty
    std::vector<Tensor> inputs, outputs;
  };
  const std::vector<Step>& steps() const { return steps_; }
  /// Launches one kernel.
  void run_step(std::size_t i);

 private:
  void plan_values();
  void make_steps();
  ValueId source(const std::string& name) const;
  void wire();
  void unwire();
  void forget_views();
  Tensor tensor_of(ValueId value) const;
  bool is_on_device(const Tensor& tensor) const;
  bool is_inner(ValueId value) const;

  Graph graph_;
  std::int64_t rows_;
  Device device_;
  std::vector<Tensor> tensors_;  // one a value, empty while unbound
  std::vector<Step> steps_;
  std::vector<const Node*> step_nodes_;
  std::unique_ptr<Stream> stream_;
  Tensor scratch_;
  std::size_t memory_bytes_ = 0;
  bool wired_ = false;
};

}  // namespace troupe
