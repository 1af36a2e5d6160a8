#include <algorithm>

#include "troupe/actors/run/segment_actor.hpp"

namespace troupe {

namespace {

/// Leaves the core's other thread the way while this one spins.
void spin_pause() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
}

}  // namespace

bool SegmentActor::may_fire(const SegmentState& segment) const {
  return segment.state == State::idle && !segment.ended && (!segment.is_source || sources_open_);
}

void SegmentActor::make_ready(std::uint32_t segment) {
  if (!may_fire(segments_[segment])) return;
  segments_[segment].state = State::queued;
  ready_.push_back(segment);
}

void SegmentActor::work() {
  if (working_) return;
  working_ = true;
  while (!ready_.empty()) {
    const auto segment = ready_.front();
    ready_.pop_front();
    if (segments_[segment].task > 0)
      run_tasks(segment);
    else
      fire(segment);
    if (ready_.empty()) break;
    // Mail continues the work; a source that could fire for ever makes its own.
    if (!mailbox().empty()) break;
    if (segments_[segment].is_source && segments_[segment].task == 0) {
      if (!continuing_) send(this, Continue{});
      continuing_ = true;
      break;
    }
  }
  working_ = false;
  if (ready_.empty() && setup_.linger.count() > 0) linger();
}

void SegmentActor::fire(std::uint32_t number) {
  auto& segment = segments_[number];
  if (segment.is_source && !sources_open_) {
    segment.state = State::idle;
    return;
  }
  segment.state = State::running;
  if (begin_firing(segment)) run_tasks(number);
}

bool SegmentActor::take_rows(SegmentState& segment, std::int64_t& rows) {
  if (segment.is_source && step_of(segment) >= until_) return false;
  if (!segment.is_source) return true;
  try {
    const auto next = segment.work->next_rows();
    if (!next) return false;
    rows = *next;
  } catch (const std::exception& error) {
    until_ = step_of(segment) + 1;
    fail(segment, segment.work->name(), error.what());
  }
  return true;
}

bool SegmentActor::begin_firing(SegmentState& segment) {
  auto rows = setup_.plan->max_rows;
  if (!take_rows(segment, rows)) {
    segment.state = State::idle;
    end(segment);
    return false;
  }
  for (std::size_t i = 0; i < segment.current.size(); ++i) {
    auto& port = port_of(segment, i);
    segment.current[i] = port.queue.pop();
    if (port.queue.empty()) ++segment.blockers;
    if (segment.current[i].failure && !segment.failure) segment.failure = segment.current[i].failure;
  }
  const auto outputs = segment.work->layout().outputs.size();
  for (std::size_t i = 0; i < outputs; ++i) {
    auto& output = output_of(segment, i);
    output.current = output.slots.take();
    if (!output.slots.has_free()) ++segment.blockers;
  }
  const auto batch_port = segment.work->batch_port();
  if (batch_port != kNone && segment.current[batch_port].tensor) rows = segment.current[batch_port].tensor.shape()[0];
  bind_firing(segment, rows);
  return true;
}

void SegmentActor::bind_firing(SegmentState& segment, std::int64_t rows) {
  try {
    segment.work->start(rows, step_of(segment));
    for (std::size_t i = 0; i < segment.current.size(); ++i)
      if (segment.current[i].tensor) segment.work->set_input(static_cast<std::int32_t>(i), segment.current[i].tensor);
    for (std::size_t i = 0; i < segment.work->layout().outputs.size(); ++i)
      segment.work->set_output(static_cast<std::int32_t>(i), output_of(segment, i).current);
  } catch (const std::exception& error) {
    fail(segment, segment.work->name(), error.what());
  }
}

void SegmentActor::run_tasks(std::uint32_t number) {
  auto& segment = segments_[number];
  const auto count = segment.work->task_count();
  while (segment.task < count) {
    const bool continued = segment.state == State::pending;
    segment.state = State::running;
    if (!run_task(segment, continued)) {
      segment.state = State::pending;
      return;
    }
    send_outputs(segment, segment.task);
    ++segment.task;
    if (segment.task < count && segments_.size() > 1 && (!ready_.empty() || !mailbox().empty())) {
      segment.state = State::queued;
      ready_.push_back(number);
      return;
    }
  }
  finish_firing(number);
}

bool SegmentActor::run_task(SegmentState& segment, bool continued) {
  if (segment.failure) return true;
  auto& status = *setup_.status;
  const auto& task = segment.work->task_name(segment.task);
  status.running.store(&task, std::memory_order_relaxed);
  const auto begin = setup_.trace ? Trace::Clock::now() : Trace::Clock::time_point();
  bool complete = true;
  try {
    complete = segment.work->run_task(segment.task, continued);
  } catch (const std::exception& error) {
    fail(segment, task, error.what());
  }
  if (setup_.trace) {
    const auto& device = setup_.plan->actors[segment.work->layout().tasks[segment.task].actor].device;
    setup_.trace->add({task, to_string(device), segment.work->replica(), step_of(segment), begin, Trace::Clock::now()});
  }
  status.running.store(nullptr, std::memory_order_relaxed);
  status.count_firing();
  return complete;
}

void SegmentActor::send_outputs(SegmentState& segment, std::size_t task) {
  for (auto output : segment.work->sends_after(task)) send_output(segment, output);
}

void SegmentActor::send_output(SegmentState& segment, std::int32_t index) {
  auto& output = output_of(segment, static_cast<std::size_t>(index));
  const auto alias_port = segment.work->layout().outputs[index].alias_port;
  Tensor tensor;
  if (!segment.failure)
    tensor = segment.work->sent_tensor(index, output.current,
                                       alias_port == kNone ? Tensor() : segment.current[alias_port].tensor);
  if (alias_port != kNone) output.held_inputs[output.current] = segment.current[alias_port];
  const auto slot = output.current;
  for (const auto& consumer : output.wire.consumers)
    tell(consumer.actor, TensorReady{consumer.port, slot, tensor, segment.failure});
}

void SegmentActor::finish_firing(std::uint32_t number) {
  auto& segment = segments_[number];
  segment.work->finish();
  for (std::size_t i = 0; i < segment.current.size(); ++i) {
    const auto& outputs = segment.work->layout().outputs;
    const bool held = std::any_of(outputs.begin(), outputs.end(), [&](const SegmentOutput& output) {
      return output.alias_port == static_cast<std::int32_t>(i);
    });
    if (held)
      segment.current[i] = {};
    else
      return_credit(port_of(segment, i), segment.current[i]);
  }
  segment.task = 0;
  segment.state = State::idle;
  ++segment.fired;
  if (segment.is_source && sources_open_ && step_of(segment) >= until_) return end(segment);
  end_if_drained(segment);
  if (segment.blockers == 0) make_ready(number);
}

void SegmentActor::end_if_drained(SegmentState& segment) {
  for (std::size_t i = 0; i < segment.current.size(); ++i) {
    const auto& port = port_of(segment, i);
    if (port.ended && port.queue.empty() && !segment.ended) end(segment);
  }
}

void SegmentActor::end(SegmentState& segment) {
  segment.ended = true;
  for (std::size_t i = 0; i < segment.work->layout().outputs.size(); ++i) {
    const auto& wire = output_of(segment, i).wire;
    if (wire.initial_tokens > 0) continue;
    for (const auto& consumer : wire.consumers) tell(consumer.actor, EndOfData{consumer.port});
  }
  for (std::size_t i = 0; i < segment.current.size(); ++i) {
    auto& port = port_of(segment, i);
    while (!port.token() && !port.queue.empty()) {
      auto arrival = port.queue.pop();
      return_credit(port, arrival);
    }
  }
  report_if_finished(segment);
}

void SegmentActor::report_if_finished(SegmentState& segment) {
  if (segment.finished) return;
  for (std::size_t i = 0; i < segment.work->layout().outputs.size(); ++i) {
    const auto& output = output_of(segment, i);
    // After a failure a token may be missing, never one too many out.
    if (output.slots.free_count() < output.home()) return;
  }
  segment.finished = true;
  const auto all = std::all_of(segments_.begin(), segments_.end(), [](const SegmentState& s) { return s.finished; });
  if (all) tell(supervisor_, RunFinished{});
}

void SegmentActor::fail(SegmentState& segment, const std::string& task, const std::string& what) {
  segment.failure = std::make_shared<Failure>(Failure{task, step_of(segment), segment.work->replica(), what});
  tell(supervisor_, StepFailed{segment.failure});
}

void SegmentActor::linger() {
  const auto finished =
      std::all_of(segments_.begin(), segments_.end(), [](const SegmentState& s) { return s.finished; });
  if (finished) return;
  const auto until = std::chrono::steady_clock::now() + setup_.linger;
  do {
    for (int i = 0; i < 64 && mailbox().empty(); ++i) spin_pause();
  } while (mailbox().empty() && std::chrono::steady_clock::now() < until);
}

}  // namespace troupe
