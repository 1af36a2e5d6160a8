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
/// the failure in place of its outputs; the failure stays for the rest of the run. A firing allocates memory only for a
/// new number of rows; see Segment::start(). The actor that owns the object receives its error reports, and uses it in
/// its handlers only.
class SegmentFiring {
 public:
  /// `range` gives the segment's ports among `ports`, the ports of `actor`. `status` counts the tasks that have fired.
  /// `segment`, `actor` and `ports` must outlive this.
  SegmentFiring(Segment& segment, Participant& actor, Ports& ports, const PortRange& range,
                std::shared_ptr<ExecutorStatus> status);

  /// The step of the firing in progress, or of the next firing.
  std::int64_t step() const { return step_; }
  const FailurePtr& failure() const { return failure_; }
  /// A text that names the work for which the current task of the firing in progress waits.
  std::string waited_task() const { return segment_.tasks()[task_].task->waits_for(); }
  /// From now on, records in the trace when tasks run.
  void trace(const std::shared_ptr<Trace>& trace) { trace_.emplace(trace, segment_.memory().stream()); }

  // ---- Runs

  /// Prepares for a run that begins with step `first_step`: forgets the failure of the last run.
  void reset(std::int64_t first_step);
  /// Brings the segment's memory up to date with the parameter store, and sends the initial tokens of the outputs, with
  /// which the run begins. An error becomes the failure of the run's steps.
  void send_tokens();
  /// Begins the run for all tasks, which call `wake` on any thread to request another run_next(). Returns the step
  /// before which the run ends: kLastStep if no source knows it, step() after a failure.
  std::int64_t begin_tasks(const RunInfo& run, const std::function<void()>& wake);
  /// If work that was launched in this run has failed, marks the parameters that the segment updates as half-written,
  /// and reports the error unless failure() is set already. Must be called once all launched work is done.
  void report_failed_work();

  // ---- One firing

  /// Begins a firing: asks the sources for the number of rows of the next batch. Returns false if a source has no more
  /// data and no step of the run has failed.
  bool begin();
  /// Takes a tensor from every input and a slot of every output. A failure that arrives in place of a tensor becomes
  /// failure(). Sets the number of rows from the first input with a batch axis, if there is one.
  void take();
  /// Binds tensors and slots as arguments of the tasks.
  void bind();
  /// True from take() to finish().
  bool in_progress() const { return in_progress_; }
  bool all_run() const { return task_ == task_count_; }
  /// Runs the next task, or the tasks of the captured subgraph that begins with it, and sends the outputs that they
  /// have computed. Returns false if the task is not complete; the next call then continues it. After a failure skips
  /// the task and sends the failure in place of its outputs.
  bool run_next();
  /// Ends the firing and returns the input tensors to their producers, except tensors that an output overwrites in
  /// place; see return_kept().
  void finish();
  /// Must be called when every consumer has returned a slot. If the output overwrites an input in place, returns the
  /// input's tensor to its producer.
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
  std::vector<bool> is_kept_;               // by input: an output overwrites its tensor
  std::vector<std::vector<Arrival>> kept_;  // by output and slot: the input that the output overwrites
  std::int64_t step_ = 0;
  std::int64_t rows_ = 0;
  std::size_t task_count_;
  std::size_t task_ = 0;
  bool in_progress_ = false;
  bool is_waiting_ = false;  // task number task_ has fired and is not complete
  FailurePtr failure_;       // kept to the end of the run: a failed step leaves invalid state
};

}  // namespace troupe
