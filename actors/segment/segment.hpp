#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "troupe/actors/collective/launch_dependencies.hpp"
#include "troupe/actors/load/uploads.hpp"
#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/plan/segment_layout.hpp"
#include "troupe/actors/ports/ports.hpp"
#include "troupe/actors/segment/captured_stretches.hpp"
#include "troupe/actors/segment/segment_streams.hpp"
#include "troupe/actors/store/update_counter.hpp"
#include "troupe/actors/system/device_trace.hpp"
#include "troupe/actors/task/spawn_context.hpp"
#include "troupe/actors/task/task.hpp"
#include "troupe/ops/core/stream.hpp"
#include "troupe/ops/graph/rows_cache.hpp"

namespace troupe {

/// The work of one segment: its tasks, their memory, and the firing in progress. It knows no messages; its actor
/// tells it what has arrived and sends what it has made. Used on one thread at a time.
///
/// On a device with memory of its own a firing only launches work, on the segment's stream, which others may share.
/// What arrives from elsewhere is copied to the device; an output that is read on the host too has a slot there for
/// every slot on the device. Runs of tasks between which nobody has to hear of anything are captured and launched at
/// once.
class Segment {
 public:
  /// Makes the tasks and allocates everything that a firing with the most rows needs. `shared_buffers` are the plan's,
  /// which outlives this.
  Segment(const Plan& plan, const PlanSegment& segment, std::span<const Tensor> shared_buffers, SegmentStreams& streams,
          SpawnContext& context);
  /// Work that was launched may still be running.
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  const std::string& name() const { return name_; }
  const SegmentLayout& layout() const { return layout_; }
  std::size_t task_count() const { return tasks_.size(); }
  const std::string& task_name(std::size_t i) const { return tasks_[i].actor->name; }
  /// The replica that task i works for.
  int replica(std::size_t i) const { return tasks_[i].actor->replica; }
  std::string task_waits_for(std::size_t i) const { return tasks_[i].task->waits_for(); }

  /// Tells task i that a run begins. Returns the step before which it ends, if it is a source that knows.
  std::int64_t begin_task(std::size_t i, const RunInfo& run, const std::function<void()>& wake);
  /// The tasks that are sources, which decide when the run ends.
  const std::vector<std::size_t>& sources() const { return sources_; }
  /// Rows of the next batch of source task i; none: the data is at its end.
  std::optional<std::int64_t> next_rows(std::size_t i);

  /// The port whose tensors determine the row count of a firing, or kNone.
  std::int32_t batch_port() const { return batch_port_; }

  /// Prepares a firing. Allocates the first time a number of rows is seen. Throws Error if the plan has no room for so
  /// many.
  void start(std::int64_t rows, std::int64_t step);
  /// Work launched from now on begins after the event.
  void wait(const Event& event) { stream_->wait(event); }
  /// As above, of a tensor that has arrived: also the copy of it.
  void wait_for_input(const Event& event, const Tensor& arrived);
  /// As above for several; the point in the work where all are done.
  Event after(const std::vector<Event>& events);
  /// What has arrived at a port, for this firing; on a device wait for it first. Throws Error if an external actor sent
  /// a tensor that contradicts the plan.
  void set_input(std::int32_t port, const Tensor& arrived);
  /// The collective that a conductor has begun for this firing, which has arrived at a port.
  void set_start(std::int32_t port, const std::shared_ptr<CollectiveStart>& start);
  /// Which slot of an output this firing fills.
  void set_output(std::int32_t output, std::uint32_t slot);
  /// The tensor to send for a slot of an output; for one in place, of the port's tensor.
  SentTensor sent_tensor(std::int32_t output, std::uint32_t slot, const Tensor& port_tensor);
  /// The tensor of a slot as it was sent last, or as the output starts.
  SentTensor token(std::int32_t output, std::uint32_t slot);
  /// Before a run: tokens of parameters that were changed since the last one get the new value.
  void refresh_tokens();
  /// Handles to the tensor of a slot besides the segment's own: 0 once every consumer has surrendered it.
  long handles_outside(std::int32_t output, std::uint32_t slot) const;

  /// Fires or continues task i of the firing. False: it waits for something.
  bool run_task(std::size_t i, bool continued);
  /// Launches the tasks from i on that were captured before, or are captured now, all at once. Returns the number of
  /// the task after them; i if task i has to be run by itself.
  std::size_t run_captured(std::size_t i);
  /// Tells task i that the step failed before it.
  void skip_task(std::size_t i, const FailurePtr& failure);
  std::span<const std::int32_t> sends_after(std::size_t i) const { return tasks_[i].sends; }
  /// Writes down from now on when the device does what this launches. Does nothing where the host itself computes.
  void trace_device(const std::shared_ptr<Trace>& trace);
  /// Null if no device is traced.
  DeviceTrace* device_trace() { return device_trace_ ? &*device_trace_ : nullptr; }
  /// The firing is over: drops what has arrived.
  void finish();
  /// When what arrived at a port may be overwritten, once the firing is over; done if the stream's order says it.
  const Event& last_use(std::int32_t port) const;
  /// The end of all work that was launched in this run.
  const Event& last_work();
  /// The error to report for one that was thrown here: that of earlier work of the device, if it comes from there.
  std::exception_ptr cause_of(const std::exception_ptr& error);
  /// Work of this run failed on the segment's stream: what this segment updates may be anything.
  void mark_failed();
  /// Nobody will wait for the work that was launched: what it updates on a device may be written at any time, so its
  /// copies are given up.
  void abandon_work();

 private:
  // Kept small: a fused segment walks over these, one for each op.
  struct TaskEntry {
    std::unique_ptr<Task> task;
    const PlanActor* actor;
    std::uint32_t first_argument, inputs, outputs;
    std::span<const std::int32_t> sends;
    std::vector<std::shared_ptr<UpdateCounter>> writes;
    std::size_t scratch_offset = 0;
    std::shared_ptr<CollectiveStart>* start = nullptr;  // an element of starts_
  };
  struct SlotArgument {
    std::size_t argument;
    std::vector<Tensor> by_slot;
  };
  struct PortArgument {
    std::size_t argument;
    const ArgumentPlace* place;
    bool whole;
  };
  static constexpr std::int64_t kNothingSent = -1;
  /// The parameter whose value the tokens of an output are, if they are.
  struct TokenParameter {
    std::shared_ptr<const UpdateCounter> counter;
    std::int64_t version = kNothingSent;  // that was sent last
  };
  /// Arguments of all tasks for one number of rows.
  struct Binding {
    std::int64_t rows = 0;
    std::vector<Tensor> arguments;
    std::vector<std::vector<PortArgument>> of_port;
    std::vector<std::vector<SlotArgument>> of_output;
    std::vector<std::vector<Tensor>> sent;  // by output and slot
    std::vector<std::int64_t> bound_slot;   // by output
  };

  /// A part of captured work: a task, or if there is an output its copy to the host.
  struct StretchLaunch {
    std::size_t task = 0;
    std::int32_t output = kNone;
    std::vector<MemoryRange> reads, writes;
  };

  /// Whether what has arrived must be copied to the device.
  bool is_elsewhere(const Tensor& arrived) const {
    return own_memory_ && !reads_any_device_ && arrived.device() != stream_->device();
  }
  void make_tasks(const Plan& plan, const PlanSegment& segment, SpawnContext& context);
  std::shared_ptr<CollectiveStart>* start_of(const Plan& plan, const PlanActor& actor);
  void allocate_slots(const Plan& plan, std::span<const Tensor> shared_buffers, const Place& place);
  void allocate_host_slots(const Plan& plan, const Place& place);
  void find_events(const Plan& plan, const PlanSegment& segment, const SegmentStreams& streams);
  Tensor make_slot(const Plan& plan, const PlanEdge& edge, const Place& place) const;
  void move_constants();
  Firing firing_of(std::size_t task);
  void find_stretches(const Plan& plan, const Place& place);
  void start_stretches();
  CapturedStretches::Resources launch_stretch(std::size_t first, std::size_t end);
  std::vector<StretchLaunch> launches_of(std::size_t first, std::size_t end);
  StretchLaunch launch_of_task(std::size_t task);
  StretchLaunch launch_of_copy(std::int32_t output);
  void launch(const StretchLaunch& launch, CapturedStretches::Resources& resources);
  void copy_to_host(std::int32_t output, std::uint32_t slot, const Tensor& tensor);
  SentTensor sent(std::int32_t output, std::uint32_t slot, const Tensor& tensor);
  void copy_parameter(std::int32_t output, std::uint32_t slot);
  void find_token_parameters(const Plan& plan);
  void note_version(std::int32_t output);
  void refresh_slots(std::int32_t output);
  const Tensor& parameter(const ParameterRef& ref);
  void refresh_parameter_copies();
  Binding& binding_for(std::int64_t rows);
  Binding make_binding(std::int64_t rows);
  void bind_argument(Binding& binding, std::size_t argument, const ArgumentPlace& place);
  void grow_scratch();

  /// Numbers of rows whose bindings are kept.
  static constexpr std::size_t kMostBindings = 8;

  std::string name_;
  std::shared_ptr<ParameterStore> store_;
  SegmentLayout layout_;
  std::vector<TensorInfo> port_infos_, output_infos_;
  std::vector<TaskEntry> tasks_;
  /// By edge from a conductor to collectives: the collective of this firing.
  std::map<EdgeId, std::shared_ptr<CollectiveStart>> starts_;
  std::vector<std::size_t> sources_;
  std::int32_t batch_port_ = kNone;
  std::int64_t max_rows_;
  std::shared_ptr<Stream> stream_;
  Tensor arena_;
  Tensor scratch_;
  bool reads_any_device_ = false;                     // what arrives stays where it is
  bool own_memory_ = false;                           // the host may not touch that of the device
  std::vector<std::vector<Tensor>> slots_;            // by output and slot, for the most rows
  std::vector<std::vector<std::int64_t>> sent_rows_;  // by output and slot, of what was sent last
  std::vector<std::vector<Tensor>> host_slots_;       // the same for consumers on the host
  std::vector<bool> awaited_;                         // by output: a consumer is on another stream of a device
  std::vector<bool> returned_late_;                   // by port: with an event, to a producer on another stream
  bool records_firing_ = false;                       // a slot of one port is returned late
  std::map<ParameterRef, Tensor> parameter_copies_;   // of those that lie elsewhere, as they were when the run began
  std::optional<Uploads> uploads_;                    // of what comes from elsewhere
  std::optional<CapturedStretches> stretches_;
  CapturedStretches::Key stretch_key_;
  bool captures_chain_ = false;
  std::vector<bool> copied_in_stretch_;  // by output: its copy to the host is part of a stretch
  std::vector<bool> sent_by_captured_;   // by output: captured work of this firing has made it
  Event launched_captured_;              // the end of that work
  std::optional<DeviceTrace> device_trace_;
  Event fired_;
  std::optional<Event> last_work_;
  std::vector<bool> copies_parameter_;            // by output: its slots hold copies of the parameter
  std::vector<TokenParameter> token_parameters_;  // by output
  RowsCache<Binding> bindings_{kMostBindings};
  Binding* binding_ = nullptr;
  std::int64_t step_ = 0;
  bool has_fired_ = false;
};

}  // namespace troupe
