#pragma once

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/task/task.hpp"
#include "troupe/ops/graph/kernel.hpp"
#include "troupe/ops/graph/rows_cache.hpp"

namespace troupe {

/// Runs the kernel of one op. A kernel is prepared and cached for each recent number of rows. If an input or output is
/// empty and the op does not accept empty tensors, no kernel runs: the outputs are set to zero or, if the op updates a
/// parameter, nothing changes.
class OpTask final : public Task {
 public:
  /// The batch axis in the shapes of `call` may be symbolic; Firing::rows then gives its length in a firing.
  OpTask(OpCall call, Device device) : call_(std::move(call)), device_(device) {}

  bool runs_on_device() const override { return true; }
  bool capturable() const override { return true; }
  std::shared_ptr<const void> resources() const override { return kernel_; }
  void prepare(std::int64_t rows) override;
  std::size_t scratch_bytes() const override { return scratch_bytes_; }
  bool fire(const Firing& firing) override;

  /// The maximum number of cached kernels. The least recently used one is dropped first.
  static constexpr std::size_t kMaxKernels = 8;

 private:
  OpCall call_;
  Device device_;
  RowsCache<std::shared_ptr<Kernel>> kernels_{kMaxKernels};
  std::size_t scratch_bytes_ = 0;
  std::int64_t rows_ = -1;
  std::shared_ptr<Kernel> kernel_;
};

std::unique_ptr<Task> make_op_task(const PlanActor& actor, SpawnContext& context);

}  // namespace troupe
