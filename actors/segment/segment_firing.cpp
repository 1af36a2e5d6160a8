#include "troupe/actors/segment/segment_firing.hpp"

#include <algorithm>
#include <utility>

#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/transport/failure.hpp"

namespace troupe {

SegmentFiring::SegmentFiring(Segment& segment, Participant& actor, Ports& ports, const PortRange& range,
                             std::shared_ptr<ExecutorStatus> status)
    : segment_(segment),
      actor_(actor),
      ports_(ports),
      range_(range),
      status_(std::move(status)),
      inputs_(range.inputs),
      slots_(range.outputs),
      is_kept_(range.inputs),
      kept_(range.outputs),
      task_count_(segment_.tasks().count()) {
  for (std::uint32_t i = 0; i < range.outputs; ++i) {
    const auto& output = segment_.layout().outputs[i];
    if (output.alias_port == kNone) continue;
    is_kept_[output.alias_port] = true;
    kept_[i].resize(static_cast<std::size_t>(segment_.plan().edges[output.edge].capacity));
  }
}

/// Calls a function that runs code of task number `task`. An exception becomes the failure of this step and all later
/// steps of the run, and is reported. EndRun is no failure: it is reported as the request to end the run.
template <class Function>
void SegmentFiring::guard(std::size_t task, Function function) {
  try {
    function();
  } catch (...) {
    fail(task, std::current_exception());
  }
}

void SegmentFiring::fail(std::size_t task, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const EndRun& end) {
    return actor_.report_end(end);
  } catch (const Aborted& aborted) {
    failure_ = aborted.failure();
    actor_.report_failure(failure_);
  } catch (...) {
    // A call on a stream may throw the error of earlier work on the device. The fault of the stream is then the cause,
    // and is reported in place of the thrown error.
    const auto fault = segment_.memory().stream().fault();
    const auto& actor = *segment_.tasks()[task].actor;
    failure_ = actor_.on_work_failed(
        with_cause({.replica = actor.replica, .actor = actor.name, .step = step_}, fault ? fault : error));
  }
}

// ---- Runs

void SegmentFiring::reset(std::int64_t first_step) {
  failure_ = nullptr;
  step_ = first_step;
}

void SegmentFiring::send_tokens() {
  guard(0, [&] {
    segment_.memory().begin_run();
    for (std::uint32_t i = 0; i < range_.outputs; ++i)
      if (ports_.output_wire(range_.output(i)).initial_tokens > 0)
        ports_.send_tokens(range_.output(i), step_,
                           [&](std::uint32_t slot) { return segment_.memory().token(i, slot); });
  });
}

std::int64_t SegmentFiring::begin_tasks(const RunInfo& run, const std::function<void()>& wake) {
  auto end_step = kLastStep;
  for (std::size_t i = 0; i < task_count_; ++i)
    guard(i, [&] {
      auto& task = *segment_.tasks()[i].task;
      task.begin(run, wake);
      if (task.is_source())
        end_step = std::min(end_step, step_after(run.first_step, task.steps_left().value_or(kLastStep)));
    });
  return failure_ ? step_ : end_step;
}

void SegmentFiring::report_failed_work() {
  const auto error = segment_.memory().last_work().error();
  if (!error) return;
  segment_.tasks().mark_failed();
  if (failure_) return;
  failure_ = actor_.on_work_failed(
      with_cause({.replica = segment_.tasks()[0].actor->replica, .actor = segment_.name(), .step = step_ - 1}, error));
}

// ---- One firing

bool SegmentFiring::begin() {
  bool has_more = true;
  std::optional<std::int64_t> common;
  for (auto source : segment_.tasks().sources()) {
    guard(source, [&] {
      const auto next = segment_.tasks()[source].task->next_rows();
      has_more = has_more && next.has_value();
      if (next && common && *next != *common)
        throw Error(segment_.name(),
                    "its sources give " + std::to_string(*common) + " and " + std::to_string(*next) + " rows");
      if (next) common = next;
    });
  }
  rows_ = common.value_or(segment_.plan().max_rows);
  return has_more || failure_;
}

void SegmentFiring::take() {
  auto& memory = segment_.memory();
  for (std::uint32_t i = 0; i < range_.inputs; ++i) {
    auto& arrival = inputs_[i] = ports_.take(range_.input(i));
    if (arrival.ready.state() != nullptr) memory.wait_for_input(arrival.ready, arrival.tensor);
    if (arrival.start) segment_.set_start(i, arrival.start);
    if (arrival.failure && !failure_) failure_ = arrival.failure;
  }
  for (std::uint32_t i = 0; i < range_.outputs; ++i) {
    slots_[i] = ports_.take_slot(range_.output(i));
    for (const auto& use : ports_.take_last_uses(range_.output(i), slots_[i])) memory.stream().wait(use);
  }
  const auto batch_port = segment_.batch_port();
  if (batch_port != kNone && inputs_[batch_port].tensor) rows_ = inputs_[batch_port].tensor.shape()[0];
  in_progress_ = true;
}

/// In builds with TROUPE_CHECKS, throws Error if a consumer still holds a handle to the slot that is about to be
/// written.
void SegmentFiring::check_surrendered([[maybe_unused]] std::uint32_t output) const {
#ifdef TROUPE_CHECKS
  const auto& plan = segment_.plan();
  const auto& edge = plan.edges[segment_.layout().outputs[output].edge];
  const auto works_later = [&](ActorId actor) {
    return !backend_of(plan.actors[actor].place.device).host_accessible();
  };
  // An actor on a device returns a slot, with an event, while work that it has launched still holds the tensor. Such
  // edges are not checked.
  if (works_later(edge.producer) ||
      std::ranges::any_of(edge.consumers, [&](const auto& consumer) { return works_later(consumer.actor); }))
    return;
  if (segment_.handles_outside(output, slots_[output]) > 0)
    throw Error("credit", "a consumer of '" + ports_.output_wire(range_.output(output)).edge +
                              "' returned a slot but still holds its tensor");
#endif
}

void SegmentFiring::bind() {
  guard(0, [&] {
    segment_.start(rows_, step_);
    for (std::uint32_t i = 0; i < range_.inputs; ++i)
      if (inputs_[i].tensor) segment_.set_input(i, inputs_[i].tensor);
    for (std::uint32_t i = 0; i < range_.outputs; ++i) {
      if (!failure_) check_surrendered(i);
      segment_.set_output(i, slots_[i]);
    }
  });
}

bool SegmentFiring::run_next() {
  const auto end = trace_ && !failure_ ? run_traced() : run_some();
  is_waiting_ = end == task_;
  for (; task_ < end; ++task_)
    for (auto output : segment_.tasks()[task_].sends) send_output(output);
  return !is_waiting_;
}

std::size_t SegmentFiring::run_traced() {
  trace_->begin();
  const auto end = run_some();
  const auto& tasks = segment_.tasks();
  const auto& actor = *tasks[task_].actor;
  const auto name = end > task_ + 1 ? actor.name + " to " + tasks[end - 1].actor->name : actor.name;
  trace_->end({.task = name, .device = to_string(actor.place.device), .replica = actor.replica, .step = step_});
  return end;
}

/// Runs the next task, or the captured subgraph that begins with it; skips the task if the step has failed. Returns the
/// number of the task after those that have run, or task_ if the next task is not complete.
std::size_t SegmentFiring::run_some() {
  auto end = task_;
  if (!is_waiting_ && !failure_) guard(task_, [&] { end = segment_.run_captured(task_); });
  if (end == task_) return run_task() ? task_ + 1 : task_;
  for (auto task = task_; task < end; ++task) status_->count_firing();
  return end;
}

/// Runs or continues the next task; skips it if the step has failed. Returns false if the task is not complete.
bool SegmentFiring::run_task() {
  if (failure_) {
    guard(task_, [&] { segment_.skip_task(task_, failure_); });
    return true;
  }
  status_->running.store(&segment_.tasks()[task_].actor->name, std::memory_order_relaxed);
  bool complete = true;
  guard(task_, [&] { complete = segment_.run_task(task_, is_waiting_); });
  status_->running.store(nullptr, std::memory_order_relaxed);
  if (complete) status_->count_firing();
  return complete;
}

void SegmentFiring::send_output(std::uint32_t output) {
  const auto slot = slots_[output];
  const auto alias_port = segment_.layout().outputs[output].alias_port;
  SentTensor sent;
  if (!failure_) sent = segment_.sent_tensor(output, slot, alias_port == kNone ? Tensor() : inputs_[alias_port].tensor);
  if (alias_port != kNone) kept_[output][slot] = std::move(inputs_[alias_port]);
  ports_.send(range_.output(output), slot, step_, sent, failure_);
}

void SegmentFiring::finish() {
  segment_.finish();
  // The state is reset before inputs are returned: a slot returned to this segment itself may make it ready again.
  task_ = 0;
  in_progress_ = false;
  ++step_;
  for (std::uint32_t i = 0; i < range_.inputs; ++i)
    if (!is_kept_[i]) ports_.give_back(range_.input(i), inputs_[i], segment_.memory().last_use(i));
}

void SegmentFiring::return_kept(std::uint32_t output, std::uint32_t slot) {
  const auto alias_port = segment_.layout().outputs[output].alias_port;
  if (alias_port == kNone) return;
  auto& stream = segment_.memory().stream();
  for (const auto& use : ports_.take_last_uses(range_.output(output), slot)) stream.wait(use);
  ports_.give_back(range_.input(alias_port), kept_[output][slot], stream.record());
}

}  // namespace troupe
