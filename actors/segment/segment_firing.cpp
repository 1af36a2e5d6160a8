#include <algorithm>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/actors/segment/segment_actor.hpp"
#include "troupe/actors/threads/spin_pause.hpp"
#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/transport/failure.hpp"

namespace troupe {

bool SegmentActor::may_fire(const SegmentState& segment) const {
  return segment.state == State::idle && !segment.ended && (!segment.is_source || sources_open_);
}

void SegmentActor::make_ready(std::uint32_t segment) {
  if (!may_fire(segments_[segment])) return;
  segments_[segment].state = State::queued;
  ready_.push(segment);
}

void SegmentActor::work() {
  if (working_) return;
  working_ = true;
  while (!ready_.empty()) {
    const auto segment = ready_.pop();
    if (segments_[segment].task > 0)
      run_tasks(segment);
    else
      fire(segment);
    if (ready_.empty()) break;
    // Incoming mail resumes work(); a source that could fire for ever sends itself Continue, unless nobody else waits
    // for its thread.
    if (!mailbox().empty()) break;
    if (setup_.busy_thread == nullptr && segments_[segment].is_source && segments_[segment].task == 0) {
      if (!continuing_) tell(*this, this, Continue{});
      continuing_ = true;
      break;
    }
  }
  working_ = false;
  if (ready_.empty() && setup_.busy_poll.count() > 0) poll_mailbox();
}

void SegmentActor::fire(std::uint32_t number) {
  auto& segment = segments_[number];
  if (segment.is_source && !sources_open_) {
    segment.state = State::idle;
    return;
  }
  segment.state = State::running;
  note_step(step_of(segment));
  if (begin_firing(segment)) run_tasks(number);
}

bool SegmentActor::take_rows(SegmentState& segment, std::int64_t& rows) {
  if (!segment.is_source) return true;
  if (step_of(segment) >= end_step_) return false;
  bool more = true;
  std::optional<std::int64_t> common;
  for (auto source : segment.work->sources()) {
    guard(segment, source, [&] {
      const auto next = segment.work->next_rows(source);
      more = more && next.has_value();
      if (next && common && *next != *common)
        throw Error(segment.work->name(),
                    "its sources give " + std::to_string(*common) + " and " + std::to_string(*next) + " rows");
      if (next) common = next;
    });
  }
  rows = common.value_or(rows);
  if (segment.failure) end_step_ = step_of(segment) + 1;
  return more || segment.failure;
}

bool SegmentActor::begin_firing(SegmentState& segment) {
  auto rows = setup_.plan->max_rows;
  if (!take_rows(segment, rows)) {
    segment.state = State::idle;
    end(segment);
    return false;
  }
  for (std::uint32_t i = 0; i < segment.inputs(); ++i) {
    auto& arrival = segment.current[i] = ports_.take(segment.first_input + i);
    if (arrival.ready.state() != nullptr) segment.work->wait_for_input(arrival.ready, arrival.tensor);
    if (arrival.start) segment.work->set_start(static_cast<std::int32_t>(i), arrival.start);
    if (!ports_.has(segment.first_input + i)) ++segment.blockers;
    if (arrival.failure && !segment.failure) segment.failure = arrival.failure;
  }
  for (std::uint32_t i = 0; i < segment.outputs(); ++i) {
    segment.current_slot[i] = ports_.take_slot(segment.first_output + i);
    for (const auto& use : ports_.take_last_uses(segment.first_output + i, segment.current_slot[i]))
      segment.work->wait(use);
    if (!ports_.has_free(segment.first_output + i)) ++segment.blockers;
  }
  const auto batch_port = segment.work->batch_port();
  if (batch_port != kNone && segment.current[batch_port].tensor) rows = segment.current[batch_port].tensor.shape()[0];
  bind_firing(segment, rows);
  return true;
}

/// Throws Error if somebody still holds the tensor that is about to be written.
void SegmentActor::check_surrendered([[maybe_unused]] const SegmentState& segment,
                                     [[maybe_unused]] std::uint32_t index) const {
#ifdef TROUPE_CHECKS
  const auto& edge = setup_.plan->edges[segment.work->layout().outputs[index].edge];
  const auto works_later = [&](ActorId actor) {
    return !backend_of(setup_.plan->actors[actor].place.device).host_accessible();
  };
  // A device returns a slot, with an event, while work that it has launched still holds the tensor.
  if (works_later(edge.producer) || std::any_of(edge.consumers.begin(), edge.consumers.end(),
                                                [&](const auto& consumer) { return works_later(consumer.actor); }))
    return;
  if (segment.work->handles_outside(static_cast<std::int32_t>(index), segment.current_slot[index]) > 0)
    throw Error("credit", "a consumer of '" + ports_.output_wire(segment.first_output + index).edge +
                              "' returned a slot but still holds its tensor");
#endif
}

void SegmentActor::bind_firing(SegmentState& segment, std::int64_t rows) {
  guard(segment, 0, [&] {
    segment.work->start(rows, step_of(segment));
    for (std::uint32_t i = 0; i < segment.inputs(); ++i)
      if (segment.current[i].tensor) segment.work->set_input(static_cast<std::int32_t>(i), segment.current[i].tensor);
    for (std::uint32_t i = 0; i < segment.outputs(); ++i) {
      if (!segment.failure) check_surrendered(segment, i);
      segment.work->set_output(static_cast<std::int32_t>(i), segment.current_slot[i]);
    }
  });
}

void SegmentActor::send_output(SegmentState& segment, std::uint32_t index) {
  const auto slot = segment.current_slot[index];
  const auto alias_port = segment.work->layout().outputs[index].alias_port;
  SentTensor sent;
  if (!segment.failure)
    sent = segment.work->sent_tensor(static_cast<std::int32_t>(index), slot,
                                     alias_port == kNone ? Tensor() : segment.current[alias_port].tensor);
  if (alias_port != kNone) segment.kept[index][slot] = std::move(segment.current[alias_port]);
  ports_.send(segment.first_output + index, slot, step_of(segment), sent, segment.failure);
}

bool SegmentActor::is_kept(const SegmentState& segment, std::uint32_t input) const {
  const auto& outputs = segment.work->layout().outputs;
  return std::any_of(outputs.begin(), outputs.end(), [&](const SegmentOutput& output) {
    return output.alias_port == static_cast<std::int32_t>(input);
  });
}

void SegmentActor::finish_firing(std::uint32_t number) {
  auto& segment = segments_[number];
  segment.work->finish();
  // Before the slots are returned, which may tell this very segment what it waits for.
  segment.task = 0;
  segment.state = State::idle;
  ++segment.fired;
  for (std::uint32_t i = 0; i < segment.inputs(); ++i)
    if (!is_kept(segment, i))
      ports_.give_back(segment.first_input + i, segment.current[i],
                       segment.work->last_use(static_cast<std::int32_t>(i)));
  if (segment.state != State::idle) return;
  if (segment.is_source && sources_open_ && step_of(segment) >= end_step_) return end(segment);
  end_if_drained(segment);
  if (segment.blockers == 0) make_ready(number);
}

void SegmentActor::end_if_drained(SegmentState& segment) {
  for (std::uint32_t i = 0; i < segment.inputs() && !segment.ended; ++i)
    if (ports_.drained(segment.first_input + i)) end(segment);
}

void SegmentActor::end(SegmentState& segment) {
  segment.ended = true;
  for (std::uint32_t i = 0; i < segment.outputs(); ++i) ports_.end(segment.first_output + i);
  for (std::uint32_t i = 0; i < segment.inputs(); ++i) ports_.drain(segment.first_input + i);
  report_if_finished(segment);
}

bool SegmentActor::has_finished() const {
  return std::all_of(segments_.begin(), segments_.end(), [](const SegmentState& s) { return s.finished; });
}

/// A run is over only when the devices have done its work.
bool SegmentActor::is_work_complete(SegmentState& segment) {
  const auto& last = segment.work->last_work();
  if (!last.done()) {
    last.notify([address = address(), number = static_cast<std::uint32_t>(&segment - segments_.data())] {
      if (auto self = caf::actor_cast<caf::actor>(address)) post(self, Advance{number});
    });
    return false;
  }
  const auto error = last.error();
  if (error) segment.work->mark_failed();
  if (error && !segment.failure)
    segment.failure = on_work_failed({.replica = segment.work->replica(0),
                                      .actor = segment.work->name(),
                                      .step = step_of(segment) - 1,
                                      .what = text_of(error)});
  return true;
}

void SegmentActor::report_if_finished(SegmentState& segment) {
  if (segment.finished) return;
  for (std::uint32_t i = 0; i < segment.outputs(); ++i)
    if (!ports_.at_rest(segment.first_output + i)) return;
  if (!is_work_complete(segment)) return;
  segment.finished = true;
  if (has_finished()) report_finished();
}

void SegmentActor::poll_mailbox() {
  if (has_finished()) return;
  const auto until = std::chrono::steady_clock::now() + setup_.busy_poll;
  do {
    for (int i = 0; i < 64 && mailbox().empty(); ++i) spin_pause();
  } while (mailbox().empty() && std::chrono::steady_clock::now() < until);
}

}  // namespace troupe
