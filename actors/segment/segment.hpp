#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/plan/checked_plan.hpp"
#include "troupe/actors/plan/segment_layout.hpp"
#include "troupe/actors/segment/segment_memory.hpp"
#include "troupe/actors/segment/segment_streams.hpp"
#include "troupe/actors/segment/segment_tasks.hpp"
#include "troupe/ops/graph/rows_cache.hpp"

namespace troupe {

class SegmentCapture;

/// The arguments of all tasks of a segment for one number of rows, as views of the segment's memory. A port is an edge
/// over which tensors arrive. Each firing sets the arguments at ports. It sets the arguments in the slots of an output
/// only if it fills another slot than the last firing with this binding. Used on one thread at a time.
class SegmentBinding {
 public:
  /// `plan`, `layout` and `memory` must outlive this.
  SegmentBinding(std::int64_t rows, const Plan& plan, const SegmentLayout& layout, SegmentMemory& memory);

  std::int64_t rows() const { return rows_; }
  /// The arguments of all tasks, task by task: first the inputs, then the outputs.
  std::span<const Tensor> arguments() const { return arguments_; }

  /// Binds `tensor`, a result of SegmentMemory::receive(), to the arguments at a port.
  void set_input(std::uint32_t port, const Tensor& tensor);
  /// Binds `slot`, which this firing fills, to the arguments of an output.
  void set_output(std::uint32_t output, std::uint32_t slot);
  /// The slot that is bound for an output.
  std::uint32_t slot_of(std::uint32_t output) const { return bound_slots_[output]; }
  /// The tensor to send for a slot of an output. For an output that overwrites a port's tensor in place, sets the
  /// result to a view of `port_tensor`; for other outputs `port_tensor` is ignored.
  const Tensor& output_tensor(std::uint32_t output, std::uint32_t slot, const Tensor& port_tensor);
  const Tensor& output_tensor(std::uint32_t output, std::uint32_t slot) const { return sent_[output][slot]; }
  /// Drops the tensors that are bound to ports.
  void release_inputs();
  /// Appends the addresses of the bound inputs and the numbers of the bound slots to a key. Together they identify the
  /// memory of ports and outputs on which the firing works.
  void append_to(std::vector<std::uintptr_t>& key) const;

 private:
  struct SlotArgument {
    std::size_t argument;
    std::vector<Tensor> by_slot;
  };
  struct PortArgument {
    std::size_t argument;
    const ArgumentPlace* place;
    bool whole;  // the argument is the port's tensor, not a view of it
  };
  static constexpr auto kUnbound = std::numeric_limits<std::uint32_t>::max();

  Tensor next_argument(const ArgumentPlace& place, SegmentMemory& memory);
  const TensorInfo& info_of(EdgeId edge) const { return plan_.edges[edge].info; }

  std::int64_t rows_;
  const Plan& plan_;
  const SegmentLayout& layout_;
  std::vector<Tensor> arguments_;
  std::vector<std::vector<PortArgument>> of_port_;
  std::vector<std::vector<SlotArgument>> of_output_;
  std::vector<std::vector<Tensor>> sent_;   // by output and slot: the tensor to send
  std::vector<std::uint32_t> bound_slots_;  // by output: the bound slot, or kUnbound
};

/// The program of one segment of a plan: its tasks in order, the memory in which they work, and the arguments of the
/// tasks, bound once for every number of rows. On a device, successive tasks are captured as subgraphs, each of which
/// is launched at once. A segment sends and receives no messages; SegmentFiring does. Used on one thread at a time.
class Segment {
 public:
  /// Makes the tasks, allocates all memory that a firing with the plan's maximum number of rows needs, and binds the
  /// arguments for these rows. `number` is the index of the segment in Plan::segments.
  Segment(const CheckedPlan& plan, std::int32_t number, const ExecutorMemory& shared, SegmentStreams& streams,
          SpawnContext& context);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  const Plan& plan() const { return plan_; }
  const std::string& name() const { return segment_.name; }
  const SegmentLayout& layout() const { return layout_; }
  const SegmentTasks& tasks() const { return tasks_; }
  SegmentMemory& memory() { return *memory_; }
  const SegmentBinding& binding() const { return *binding_; }
  const std::byte* scratch() const { return memory_->scratch(); }
  /// The port whose tensors determine the number of rows of a firing; kNone if no port has a batch axis.
  std::int32_t batch_port() const { return batch_port_; }

  /// Begins a firing of `rows` rows. Allocates if no binding is kept for this number of rows. Throws Error if the plan
  /// has no room for the rows.
  void start(std::int64_t rows, std::int64_t step);
  /// Stores, for the tasks of this firing, the collective that has arrived at a port. A conductor, the actor that
  /// begins collectives for the ranks of a process, has sent it.
  void set_start(std::uint32_t port, const std::shared_ptr<CollectiveStart>& start) {
    tasks_.set_start(layout_.ports[port], start);
  }
  /// Binds the tensor that has arrived at a port. Throws Error if the tensor has other rows than the firing, or must be
  /// in host memory and is not.
  void set_input(std::uint32_t port, const Tensor& arrived);
  /// Binds `slot`, which this firing fills, to the arguments of an output.
  void set_output(std::uint32_t output, std::uint32_t slot) { binding_->set_output(output, slot); }
  Firing firing_of(std::size_t task) const;
  /// Fires task i, or continues it if `continued`. Returns false if the task is not complete. Counts the updates of the
  /// parameters that the task changes.
  bool run_task(std::size_t i, bool continued);
  /// Launches the captured subgraph that begins with task i; captures it first if it is new. Returns the number of the
  /// task after the subgraph. Returns i if no subgraph begins with task i; run_task() must then run the task.
  std::size_t run_captured(std::size_t i);
  /// Skips task i, because the step has failed before it. No captured subgraph is launched in the rest of the firing.
  void skip_task(std::size_t i, const FailurePtr& failure);
  /// Makes the message for a slot of an output that this firing has computed. An output that overwrites a port's tensor
  /// in place is sent as a view of `port_tensor`; for other outputs `port_tensor` is ignored.
  SentTensor sent_tensor(std::uint32_t output, std::uint32_t slot, const Tensor& port_tensor);
  /// Ends a firing: drops the tensors and collectives that have arrived, and makes the events after which the tensors
  /// of ports may be overwritten (SegmentMemory::last_use()).
  void finish();
  /// The number of handles to the tensor of a slot besides the segment's own: 0 once every consumer has dropped its
  /// handle.
  long handles_outside(std::uint32_t output, std::uint32_t slot) const;

 private:
  void make_memory(const SegmentMemorySetup& setup, const SegmentStreams& streams);
  SegmentBinding& binding_for(std::int64_t rows);

  /// The largest number of bindings that are kept, one for each number of rows.
  static constexpr std::size_t kMostBindings = 8;

  CheckedPlan checked_;
  const Plan& plan_;
  const PlanSegment& segment_;
  const SegmentLayout& layout_;
  std::unique_ptr<SegmentMemory> memory_;
  Stream* stream_ = nullptr;
  SegmentTasks tasks_;
  std::vector<TensorInfo> port_infos_;
  std::int32_t batch_port_ = kNone;
  RowsCache<SegmentBinding> bindings_{kMostBindings};
  SegmentBinding* binding_ = nullptr;
  std::int64_t step_ = 0;
  std::unique_ptr<SegmentCapture> capture_;  // null if no work is captured, as on the host
};

}  // namespace troupe
