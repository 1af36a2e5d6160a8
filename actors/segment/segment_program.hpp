#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/plan/segment_layout.hpp"
#include "troupe/actors/segment/segment_binding.hpp"
#include "troupe/actors/segment/segment_tasks.hpp"
#include "troupe/ops/graph/rows_cache.hpp"

namespace troupe {

class DeviceMemory;
class SegmentCapture;

/// The program of one segment: its tasks in order, and the arguments on which a firing lets them work, bound once for
/// every number of rows. On a device, runs of tasks are captured as subgraphs and launched at once. A program knows no
/// messages. Used on one thread at a time.
class SegmentProgram {
 public:
  /// Binds the arguments for the plan's maximum number of rows. Plan, layout and memory outlive this.
  SegmentProgram(const Plan& plan, const PlanSegment& segment, const SegmentLayout& layout, SegmentTasks tasks,
                 SegmentMemory& memory);
  ~SegmentProgram();
  SegmentProgram(const SegmentProgram&) = delete;
  SegmentProgram& operator=(const SegmentProgram&) = delete;

  /// Captures tasks from now on, unless TROUPE_CAPTURE forbids it. `memory` is the one that was given before.
  void capture(DeviceMemory& memory);

  const SegmentTasks& tasks() const { return tasks_; }
  const SegmentBinding& binding() const { return *binding_; }
  const std::byte* scratch() const { return scratch_; }
  /// The port whose tensors determine the number of rows of a firing, or kNone.
  std::int32_t batch_port() const { return batch_port_; }

  /// Begins a firing. Allocates the first time a number of rows is seen. Throws Error if the plan has no room for the
  /// rows.
  void start(std::int64_t rows, std::int64_t step);
  /// Binds the tensor that has arrived at a port. Throws Error if an external actor sent a tensor that contradicts the
  /// plan.
  void set_input(std::int32_t port, const Tensor& arrived);
  /// Sets the collective of this firing, which a conductor has begun and which has arrived at a port.
  void set_start(std::int32_t port, const std::shared_ptr<CollectiveStart>& start);
  /// The collective that this firing sends with an output; null if there is none.
  std::shared_ptr<CollectiveStart> start_of(std::int32_t output);
  /// Binds the slot of an output that this firing fills.
  void set_output(std::int32_t output, std::uint32_t slot) { binding_->set_output(output, slot); }
  Firing firing_of(std::size_t task) const;
  /// Fires or continues task i. False: it waits for something.
  bool run_task(std::size_t i, bool continued);
  /// Launches the subgraph that begins with task i, which was captured before or is captured now. Returns the number of
  /// the task after it; i if task i has to run by itself.
  std::size_t run_captured(std::size_t i) { return capture_ ? launch_captured(i) : i; }
  /// Tells task i that the step failed before it.
  void skip_task(std::size_t i, const FailurePtr& failure);
  /// The tensor to send for a slot of an output. An output in place of a port becomes a view of `port_tensor`.
  const Tensor& output_tensor(std::int32_t output, std::uint32_t slot, const Tensor& port_tensor) {
    return binding_->output_tensor(output, slot, port_tensor);
  }
  /// Ends a firing: drops the tensors that have arrived.
  void finish();
  /// Handles to the tensor of a slot besides the segment's own: 0 once every consumer has surrendered it.
  long handles_outside(std::int32_t output, std::uint32_t slot) const;

 private:
  SegmentBinding& binding_for(std::int64_t rows);
  std::size_t launch_captured(std::size_t i);

  /// Numbers of rows whose bindings are kept.
  static constexpr std::size_t kMostBindings = 8;

  const Plan& plan_;
  const PlanSegment& segment_;
  const SegmentLayout& layout_;
  SegmentTasks tasks_;
  SegmentMemory& memory_;
  Stream& stream_;
  std::byte* scratch_ = nullptr;
  std::vector<TensorInfo> port_infos_;
  std::int32_t batch_port_ = kNone;
  RowsCache<SegmentBinding> bindings_{kMostBindings};
  SegmentBinding* binding_ = nullptr;
  std::int64_t step_ = 0;
  std::unique_ptr<SegmentCapture> capture_;  // null where work is not captured
};

}  // namespace troupe
