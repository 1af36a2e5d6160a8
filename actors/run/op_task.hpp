#pragma once

#include <map>

#include "troupe/actors/run/task.hpp"
#include "troupe/ops/graph/graph.hpp"
#include "troupe/ops/graph/kernel.hpp"

namespace troupe {

/// Runs the kernel of one op, one prepared for every number of rows it has met. An empty batch reaches no kernel: what
/// it would have computed is empty or zero.
class OpTask final : public Task {
 public:
  /// `call` has symbolic shapes.
  OpTask(OpCall call, Device device) : call_(std::move(call)), device_(device) {}

  void prepare(std::int64_t rows) override;
  std::size_t scratch_bytes() const override;
  bool fire(const Firing& firing) override;

 private:
  OpCall call_;
  Device device_;
  std::map<std::int64_t, std::unique_ptr<Kernel>> kernels_;
  std::int64_t rows_ = -1;
  Kernel* kernel_ = nullptr;
};

}  // namespace troupe
