#include "troupe/actors/segment/segment_actor.hpp"

#include <algorithm>
#include <caf/message_handler.hpp>
#include <utility>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/actors/threads/spin_pause.hpp"
#include "troupe/actors/threads/thread_pinning.hpp"
#include "troupe/ops/core/float_mode.hpp"

namespace troupe {

SegmentActor::SegmentActor(caf::actor_config& config, ExecutorSetup setup)
    : Participant(config), setup_(std::move(setup)), arena_turn_(setup_.segments.size()) {
  status_ = setup_.status;
  const auto& plan = setup_.plan;
  if (!is_host(plan->segments[setup_.segments[0]].place.device)) ports_.on_device();
  SegmentStreams streams(*plan, setup_.segments);
  segments_.reserve(setup_.segments.size());
  const ExecutorMemory shared(plan, setup_.segments, std::move(setup_.shared_buffers));
  for (auto index : setup_.segments) {
    auto segment = std::make_unique<Segment>(plan, index, shared, streams, *setup_.context);
    const auto& layout = segment->layout();
    const auto count = [](const auto& items) { return static_cast<std::uint32_t>(items.size()); };
    const PortRange range{count(segment_of_input_), count(layout.ports), count(segment_of_output_),
                          count(layout.outputs)};
    const auto number = count(segments_);
    segment_of_input_.resize(range.input(range.inputs), number);
    segment_of_output_.resize(range.output(range.outputs), number);
    SegmentFiring firing(*segment, *this, ports_, range, status_);
    segments_.push_back({.number = number,
                         .segment = std::move(segment),
                         .ports = range,
                         .firing = std::move(firing),
                         .shares_arena = shares_arena(*plan, plan->segments[index], layout)});
  }
  ready_.reserve(segments_.size());
  setup_.context.reset();
}

caf::message_handler SegmentActor::own_handlers() {
  return {
      [this](const Continue&) {
        continuing_ = false;
        work();
      },
      [this](const Advance& advance) {
        if (advance.segment >= segments_.size()) return;
        auto& segment = segments_[advance.segment];
        if (segment.phase == Phase::pending)
          run(segment);
        else if (segment.ended)
          report_if_finished(segment);
        work();
      },
  };
}

std::function<void()> SegmentActor::advance_later(const State& segment) {
  return [address = address(), number = segment.number] {
    if (auto self = caf::actor_cast<caf::actor>(address)) post(self, Advance{number});
  };
}

// ---- Orders of the supervisor

void SegmentActor::on_wired() {
  if (setup_.core >= 0) pin_this_thread(setup_.core);
  if (setup_.trace)
    for (auto& segment : segments_) segment.firing.trace(setup_.trace);
}

std::int64_t SegmentActor::on_prepare(const PrepareRun& order) {
  end_step_ = end_of(order.info);
  sources_open_ = false;
  for (auto& segment : segments_) {
    segment.firing.reset(order.info.first_step);
    segment.ended = segment.finished = false;
    // The count is one too many until the blockers are counted below, so that a token that arrives before makes no
    // segment ready.
    segment.blockers = segment.ports.inputs + segment.ports.outputs + 1;
  }
  // All segments send their tokens before any of them counts its blockers, since a token may go to another segment of
  // this actor.
  for (auto& segment : segments_) segment.firing.send_tokens();
  auto end_step = kLastStep;
  for (auto& segment : segments_) {
    segment.blockers = ports_.blockers(segment.ports);
    end_step = std::min(end_step, segment.firing.begin_tasks(order.info, advance_later(segment)));
  }
  return end_step;
}

std::int64_t SegmentActor::on_pause() {
  sources_open_ = false;
  std::int64_t next_step = 0;
  for (const auto& segment : segments_)
    if (segment.is_source)
      next_step = std::max(next_step, segment.firing.step() + (segment.firing.in_progress() ? 1 : 0));
  return next_step;
}

void SegmentActor::on_run_until(std::int64_t end_step) {
  end_step_ = std::min(end_step_, end_step);
  sources_open_ = true;
  for (auto& segment : segments_) {
    if (!segment.is_source || segment.ended || segment.phase != Phase::idle) continue;
    if (segment.firing.step() >= end_step_)
      end(segment);
    else
      queue_if_ready(segment);
  }
}

void SegmentActor::on_stop() {
  for (auto& segment : segments_)
    if (!segment.finished && segment.segment->memory().is_busy()) segment.segment->tasks().abandon_updates();
  segments_.clear();
  ready_.clear();
  setup_.busy_thread = nullptr;
}

void SegmentActor::describe(StallReport& report) {
  std::vector<std::string> lines;
  for (const auto& segment : segments_)
    lines.push_back("'" + segment.segment->name() + "' (step " + std::to_string(segment.firing.step()) + ") " +
                    (is_wired() ? waits_for(segment) : "is not wired yet"));
  report.add(status_->name, lines);
}

std::string SegmentActor::waits_for(const State& segment) const {
  if (segment.ended) {
    if (!ports_.at_rest(segment.ports)) return "has ended, " + ports_.awaited_rest(segment.ports);
    return segment.finished ? "has ended" : "has ended, waits for the device to complete its work";
  }
  if (segment.phase == Phase::pending) return segment.firing.waited_task();
  if (auto awaited = ports_.awaited(segment.ports); !awaited.empty()) return awaited;
  return segment.is_source && !sources_open_ ? "is paused" : "is about to fire";
}

// ---- Changes of the ports

void SegmentActor::on_arrival(std::uint32_t input) {
  auto& segment = segments_[segment_of_input_[input]];
  if (segment.ended)
    ports_.drain(input);
  else if (ports_.waiting(input) == 1)
    unblock(segment);
}

void SegmentActor::on_free(std::uint32_t output, std::uint32_t slot) {
  auto& segment = segments_[segment_of_output_[output]];
  segment.firing.return_kept(output - segment.ports.first_output, slot);
  if (segment.ended)
    report_if_finished(segment);
  else if (ports_.free_slots(output) == 1)
    unblock(segment);
}

void SegmentActor::on_ended(std::uint32_t input) {
  may_be_drained_.push_back(segment_of_input_[input]);
  if (!ending_) end_drained();
}

// ---- The ready queue

void SegmentActor::unblock(State& segment) {
  --segment.blockers;
  queue_if_ready(segment);
}

void SegmentActor::queue_if_ready(State& segment) {
  if (segment.phase != Phase::idle || segment.ended || segment.blockers > 0) return;
  if (segment.is_source && !sources_open_) return;
  segment.phase = Phase::queued;
  ready_.push(segment.number);
}

void SegmentActor::work() {
  if (std::exchange(working_, true)) return;
  const DefaultFloatMode mode;
  while (!ready_.empty()) {
    auto& segment = segments_[ready_.pop()];
    if (segment.firing.in_progress())
      run(segment);
    else
      fire(segment);
    if (ready_.empty()) break;
    // Each message that waits in the mailbox resumes work() once it is handled. After a firing, this actor sends itself
    // Continue, so that other actors, such as those to which the firing has sent tensors, get the thread, unless the
    // thread is this actor's own.
    if (!mailbox().empty()) break;
    if (setup_.busy_thread == nullptr && !segment.firing.in_progress()) {
      if (!continuing_) tell(*this, this, Continue{});
      continuing_ = true;
      break;
    }
  }
  working_ = false;
  if (ready_.empty() && setup_.busy_poll.count() > 0) poll_mailbox();
}

void SegmentActor::poll_mailbox() {
  if (has_finished()) return;
  const auto until = std::chrono::steady_clock::now() + setup_.busy_poll;
  do {
    for (int i = 0; i < 64 && mailbox().empty(); ++i) spin_pause();
  } while (mailbox().empty() && std::chrono::steady_clock::now() < until);
}

// ---- Firings

void SegmentActor::fire(State& segment) {
  auto& firing = segment.firing;
  if (segment.is_source && !sources_open_) {
    segment.phase = Phase::idle;
    return;
  }
  if (segment.shares_arena && !arena_turn_.take(segment.number)) return;
  segment.phase = Phase::running;
  note_step(firing.step());
  if ((segment.is_source && firing.step() >= end_step_) || !firing.begin()) {
    segment.phase = Phase::idle;
    arena_turn_.give_back(segment.number, ready_);
    return end(segment);
  }
  // After a failed step of a source, the sources of this actor fire no further step.
  if (segment.is_source && firing.failure()) end_step_ = firing.step() + 1;
  firing.take();
  segment.blockers += ports_.blockers(segment.ports);
  firing.bind();
  run(segment);
}

void SegmentActor::run(State& segment) {
  segment.phase = Phase::running;
  while (!segment.firing.all_run()) {
    if (!segment.firing.run_next()) {
      segment.phase = Phase::pending;
      return;
    }
    if (!segment.firing.all_run() && segments_.size() > 1 && (!ready_.empty() || !mailbox().empty())) {
      segment.phase = Phase::queued;
      ready_.push(segment.number);
      return;
    }
  }
  finish(segment);
}

void SegmentActor::finish(State& segment) {
  segment.phase = Phase::idle;
  arena_turn_.give_back(segment.number, ready_);
  segment.firing.finish();
  // firing.finish() may have returned a slot to this segment itself, and so made the segment ready and queued it.
  if (segment.phase != Phase::idle) return;
  if (segment.is_source && sources_open_ && segment.firing.step() >= end_step_) return end(segment);
  if (ports_.drained(segment.ports)) end(segment);
  queue_if_ready(segment);
}

// ---- The end of a run

void SegmentActor::end(State& segment) {
  segment.ended = true;
  ports_.end(segment.ports);
  report_if_finished(segment);
}

/// Ends the segments of which an input is drained: all its tensors are taken, and no more arrive in this run. A segment
/// that ends may drain an input of another segment. A nested call for each would make the stack as deep as a chain of
/// segments is long.
void SegmentActor::end_drained() {
  ending_ = true;
  while (!may_be_drained_.empty()) {
    auto& segment = segments_[may_be_drained_.back()];
    may_be_drained_.pop_back();
    if (segment.phase == Phase::idle && !segment.ended && ports_.drained(segment.ports)) end(segment);
  }
  ending_ = false;
}

/// Marks an ended segment as finished once all slots of its outputs are free and the work that it has launched is
/// complete. Reports to the supervisor when all segments are finished.
void SegmentActor::report_if_finished(State& segment) {
  if (segment.finished || !ports_.at_rest(segment.ports)) return;
  const auto& last = segment.segment->memory().last_work();
  if (!last.done()) return last.notify(advance_later(segment));
  segment.firing.report_failed_work();
  segment.finished = true;
  if (has_finished()) report_finished();
}

bool SegmentActor::has_finished() const {
  return std::ranges::all_of(segments_, &State::finished);
}

}  // namespace troupe
