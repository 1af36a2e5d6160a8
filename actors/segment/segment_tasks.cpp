// How a segment actor runs the tasks of a firing: one by one or captured, traced or not.

#include <algorithm>

#include "troupe/actors/segment/segment_actor.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/transport/failure.hpp"

namespace troupe {

void SegmentActor::fail(SegmentState& segment, std::size_t task, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const EndRun& end) {
    return report_end(end);
  } catch (const Aborted& aborted) {
    segment.failure = aborted.failure();
  } catch (...) {
    auto& work = *segment.work;
    segment.failure = std::make_shared<Failure>(Failure{.rank = rank(),
                                                        .replica = work.replica(task),
                                                        .actor = work.task_name(task),
                                                        .step = step_of(segment),
                                                        .what = text_of(work.cause_of(error))});
  }
  report_failure(segment.failure);
}

void SegmentActor::run_tasks(std::uint32_t number) {
  auto& segment = segments_[number];
  const auto count = segment.work->task_count();
  while (segment.task < count) {
    const auto end = run_some(segment);
    if (end == segment.task) {
      segment.state = State::pending;
      return;
    }
    for (; segment.task < end; ++segment.task)
      for (auto output : segment.work->sends_after(segment.task))
        send_output(segment, static_cast<std::uint32_t>(output));
    if (segment.task < count && segments_.size() > 1 && (!ready_.empty() || !mailbox().empty())) {
      segment.state = State::queued;
      ready_.push(number);
      return;
    }
  }
  finish_firing(number);
}

/// Runs what comes next. Returns the number of the task after it: that of the next task if it is not complete.
std::size_t SegmentActor::run_some(SegmentState& segment) {
  if (!setup_.trace || segment.failure) return run_untraced(segment);
  auto* device = segment.work->device_trace();
  if (device != nullptr) device->begin();
  const auto begin = Trace::Clock::now();
  const auto end = run_untraced(segment);
  trace_tasks(segment, std::max(end, segment.task + 1), begin);
  return end;
}

std::size_t SegmentActor::run_untraced(SegmentState& segment) {
  const bool continued = segment.state == State::pending;
  segment.state = State::running;
  if (!continued && !segment.failure)
    if (const auto end = run_captured(segment); end > segment.task) return end;
  return run_task(segment, continued) ? segment.task + 1 : segment.task;
}

std::size_t SegmentActor::run_captured(SegmentState& segment) {
  auto end = segment.task;
  guard(segment, segment.task, [&] { end = segment.work->run_captured(segment.task); });
  for (auto task = segment.task; task < end; ++task) status_->count_firing();
  return end;
}

bool SegmentActor::run_task(SegmentState& segment, bool continued) {
  if (segment.failure) {
    guard(segment, segment.task, [&] { segment.work->skip_task(segment.task, segment.failure); });
    return true;
  }
  status_->running.store(&segment.work->task_name(segment.task), std::memory_order_relaxed);
  bool complete = true;
  guard(segment, segment.task, [&] { complete = segment.work->run_task(segment.task, continued); });
  status_->running.store(nullptr, std::memory_order_relaxed);
  if (complete) status_->count_firing();
  return complete;
}

void SegmentActor::trace_tasks(const SegmentState& segment, std::size_t end, Trace::Clock::time_point begin) {
  const auto& actor = setup_.plan->actors[segment.work->layout().tasks[segment.task].actor];
  const auto name = end == segment.task + 1 ? actor.name : actor.name + " to " + segment.work->task_name(end - 1);
  const auto device = to_string(actor.place.device);
  Trace::Event event{name, device, actor.replica, step_of(segment), begin, Trace::Clock::now()};
  if (auto* on_device = segment.work->device_trace(); on_device != nullptr) {
    on_device->end(event);
    event.device = "host of " + device;
  }
  setup_.trace->add(std::move(event));
}

}  // namespace troupe
