#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/plan/segment_layout.hpp"

namespace troupe {

/// The work of one segment: its tasks, their memory, and the firing that is on its way. It knows no messages; its actor
/// tells it what has arrived and sends what it has made. Used on one thread at a time.
class Segment {
 public:
  /// Makes the tasks and allocates everything that a firing with the most rows needs. `blocks` are the plan's shared
  /// ones.
  Segment(const Plan& plan, const PlanSegment& segment, std::span<const Tensor> blocks);

  const std::string& name() const { return name_; }
  int replica() const { return replica_; }
  const SegmentLayout& layout() const { return layout_; }
  std::size_t task_count() const { return tasks_.size(); }
  const std::string& task_name(std::size_t i) const { return tasks_[i].name; }
  std::string task_waits_for(std::size_t i) const { return tasks_[i].task->waits_for(); }

  void begin(const RunInfo& run, const std::function<void()>& wake);
  /// True if nothing but itself tells when it ends: it has a source task.
  bool has_source() const { return !sources_.empty(); }
  /// Rows of the next batch of the source tasks; none: the data is at its end.
  std::optional<std::int64_t> next_rows();

  /// The port by whose tensors one sees the rows of a firing, or kNone.
  std::int32_t batch_port() const { return batch_port_; }

  /// Prepares a firing. Allocates the first time a number of rows is seen. Throws Error if the plan has no room for so
  /// many.
  void start(std::int64_t rows, std::int64_t step);
  /// What has arrived at a port, for this firing. Throws Error if an actor of the user's own sent what the plan does
  /// not say.
  void set_input(std::int32_t port, const Tensor& tensor);
  /// Which slot of an output this firing fills.
  void set_output(std::int32_t output, std::uint32_t slot);
  /// The tensor to send for a slot of an output; for one in place, of the port's tensor.
  Tensor sent_tensor(std::int32_t output, std::uint32_t slot, const Tensor& port_tensor);
  /// Handles to the tensor of a slot besides the segment's own: 0 once every consumer has surrendered it.
  long handles_outside(std::int32_t output, std::uint32_t slot) const;

  /// Fires or continues task i of the firing. False: it waits for something.
  bool run_task(std::size_t i, bool continued);
  const std::vector<std::int32_t>& sends_after(std::size_t i) const { return layout_.tasks[i].sends; }
  /// The firing is over: drops what has arrived.
  void finish();

 private:
  struct TaskEntry {
    std::string name;
    std::unique_ptr<Task> task;
    std::size_t first_argument, inputs, outputs;
  };
  struct SlotArgument {
    std::size_t argument;
    std::vector<Tensor> by_slot;
  };
  struct PortArgument {
    std::size_t argument;
    const Place* place;
    bool whole;
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

  void make_tasks(const Plan& plan, const PlanSegment& segment);
  void allocate_slots(const Plan& plan, std::span<const Tensor> blocks);
  Binding& binding_for(std::int64_t rows);
  Binding make_binding(std::int64_t rows);
  void bind_argument(Binding& binding, std::size_t argument, const Place& place);
  void grow_scratch();

  std::string name_;
  int replica_ = 0;
  SegmentLayout layout_;
  std::vector<TensorInfo> port_infos_, output_infos_;
  std::vector<std::string> untrusted_ports_;  // name of the user's actor that feeds the port, or empty
  std::vector<TaskEntry> tasks_;
  std::vector<Task*> sources_;
  std::int32_t batch_port_ = kNone;
  std::int64_t max_rows_;
  Tensor arena_;
  Tensor scratch_;
  std::vector<std::vector<Tensor>> slots_;  // by output and slot, for the most rows
  std::map<std::int64_t, Binding> bindings_;
  Binding* binding_ = nullptr;
  std::int64_t step_ = 0;
};

}  // namespace troupe
