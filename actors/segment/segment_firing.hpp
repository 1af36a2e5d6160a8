#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/messages/run_status.hpp"
#include "troupe/actors/ports/participant.hpp"
#include "troupe/actors/segment/segment.hpp"
#include "troupe/actors/system/device_trace.hpp"

namespace troupe {

/// The firings of one segment, one after the other. A firing asks the sources for rows (begin), takes a tensor from
/// every input and a slot of every output (take), binds them as arguments (bind), runs the tasks and sends each output
/// as soon as it is computed (run_next), and returns the inputs (finish). A step that has failed runs no task and sends
/// the failure in place of its outputs; the failure stays for the rest of the run. Allocates nothing in a firing.
/// Belongs to an actor, to which it reports errors, and is used in its handlers only.
class SegmentFiring {
 public:
  /// `range` are the segment's ports among those of the actor. `status` counts the tasks that have fired. Segment,
  /// actor and ports outlive this.
  SegmentFiring(Segment& segment, Participant& actor, Ports& ports, const PortRange& range,
                std::shared_ptr<ExecutorStatus> status);

  /// The step of the firing in progress, or of the next firing.
  std::int64_t step() const { return step_; }
  const FailurePtr& failure() const { return failure_; }
  /// The task that the firing in progress waits for, in words.
  std::string waited_task() const { return segment_.tasks()[task_].task->waits_for(); }
  /// Records in the trace, from now on, when tasks run.
  void trace(const std::shared_ptr<Trace>& trace) { trace_.emplace(trace, segment_.memory().stream()); }

  // ---- Runs

  /// A run begins with this step.
  void reset(std::int64_t first_step);
  /// Sends the tokens with which the run begins.
  void send_tokens();
  /// Begins the run for all tasks. Returns the step before which it ends, if a source knows.
  std::int64_t begin_tasks(const RunInfo& run, const std::function<void()>& wake);
  /// Reports an error of the work that was launched in this run, which has ended.
  void report_failed_work();

  // ---- One firing

  /// Begins a firing: asks the sources for the rows of the next batch. False: the data are at their end.
  bool begin();
  /// Takes a tensor from every input and a slot of every output.
  void take();
  /// Binds tensors and slots as arguments of the tasks.
  void bind();
  /// True from take() to finish().
  bool in_progress() const { return in_progress_; }
  bool all_run() const { return task_ == task_count_; }
  /// Runs the next task, or the tasks of a captured subgraph, and sends the outputs that are computed then. False: the
  /// task waits for something; the next call continues it.
  bool run_next();
  /// Ends the firing and returns the inputs, except those whose tensor is an output in place.
  void finish();
  /// Every consumer has returned a slot: the input whose tensor the output is, in place, is returned, too.
  void return_kept(std::uint32_t output, std::uint32_t slot);

 private:
  std::size_t run_traced();
  std::size_t run_some();
  bool run_task();
  void send_output(std::uint32_t output);
  void check_surrendered(std::uint32_t output) const;
  template <class Function>
  void guard(std::size_t task, Function function);
  void fail(std::size_t task, const std::exception_ptr& error);

  Segment& segment_;
  Participant& actor_;
  Ports& ports_;
  PortRange range_;
  std::shared_ptr<ExecutorStatus> status_;
  std::optional<DeviceTrace> trace_;
  std::vector<Arrival> inputs_;             // by input: the tensor that this firing has taken
  std::vector<std::uint32_t> slots_;        // by output: the slot that this firing fills
  std::vector<bool> is_kept_;               // by input: its tensor is an output in place
  std::vector<std::vector<Arrival>> kept_;  // by output in place and slot: the input whose tensor is there
  std::int64_t step_ = 0;
  std::int64_t rows_ = 0;
  std::size_t task_count_;
  std::size_t task_ = 0;
  bool in_progress_ = false;
  bool is_waiting_ = false;  // the task has fired and is not complete
  FailurePtr failure_;       // sticky: state carried over from a failed step is invalid
};

}  // namespace troupe
