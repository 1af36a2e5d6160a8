#include "troupe/actors/segment/segment_actor.hpp"

#include <algorithm>
#include <caf/message_handler.hpp>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/actors/threads/thread_pinning.hpp"

namespace troupe {

SegmentActor::SegmentActor(caf::actor_config& config, ExecutorSetup setup)
    : Participant(config), setup_(std::move(setup)) {
  status_ = setup_.status;
  if (!is_host(setup_.plan->segments[setup_.segments[0]].place.device)) ports_.on_device();
  SegmentStreams streams(*setup_.plan, setup_.segments);
  for (auto index : setup_.segments) {
    const auto number = static_cast<std::uint32_t>(segments_.size());
    SegmentState segment;
    segment.work = std::make_unique<Segment>(*setup_.plan, setup_.plan->segments[index], setup_.shared_buffers, streams,
                                             *setup_.context);
    const auto& layout = segment.work->layout();
    segment.first_input = static_cast<std::uint32_t>(segment_of_input_.size());
    segment.first_output = static_cast<std::uint32_t>(segment_of_output_.size());
    segment.current.resize(layout.ports.size());
    segment.current_slot.resize(layout.outputs.size());
    segment.kept.resize(layout.outputs.size());
    for (std::size_t i = 0; i < layout.outputs.size(); ++i)
      if (layout.outputs[i].alias_port != kNone)
        segment.kept[i].resize(setup_.plan->edges[layout.outputs[i].edge].capacity);
    segment_of_input_.resize(segment_of_input_.size() + layout.ports.size(), number);
    segment_of_output_.resize(segment_of_output_.size() + layout.outputs.size(), number);
    segments_.push_back(std::move(segment));
  }
  ready_.reserve(segments_.size());
  setup_.shared_buffers.clear();
  setup_.context.reset();
}

caf::message_handler SegmentActor::own_handlers() {
  return {
      [this](const Continue&) {
        continuing_ = false;
        work();
      },
      [this](const Advance& advance) {
        if (advance.segment < segments_.size() && segments_[advance.segment].state == State::pending)
          run_tasks(advance.segment);
        else if (advance.segment < segments_.size() && segments_[advance.segment].ended)
          report_if_finished(segments_[advance.segment]);
        work();
      },
  };
}

// ---- orders of the supervisor

void SegmentActor::on_wired() {
  if (setup_.core >= 0) pin_this_thread(setup_.core);
  for (auto& segment : segments_) {
    segment.is_source = !segment.work->sources().empty();
    if (setup_.trace) segment.work->trace_device(setup_.trace);
  }
}

std::int64_t SegmentActor::on_prepare(const PrepareRun& order) {
  first_step_ = order.info.first_step;
  end_step_ = end_of(order.info);
  sources_open_ = false;
  // Tokens first: those of one segment may be what another waits for.
  for (auto& segment : segments_) {
    segment.failure = nullptr;
    segment.fired = 0;
    segment.ended = segment.finished = false;
    // Until prepare_segment() has counted them: a token that arrives here must make nothing ready.
    segment.blockers = segment.inputs() + segment.outputs() + 1;
  }
  for (auto& segment : segments_) {
    guard(segment, 0, [&] {
      segment.work->refresh_tokens();
      send_tokens(segment);
    });
  }
  auto end_step = kLastStep;
  for (std::uint32_t number = 0; number < segments_.size(); ++number)
    end_step = std::min(end_step, prepare_segment(number, order.info));
  return end_step;
}

std::int64_t SegmentActor::prepare_segment(std::uint32_t number, const RunInfo& run) {
  auto& segment = segments_[number];
  segment.blockers = 0;
  for (std::uint32_t i = 0; i < segment.inputs(); ++i)
    if (!ports_.has(segment.first_input + i)) ++segment.blockers;
  for (std::uint32_t i = 0; i < segment.outputs(); ++i)
    if (!ports_.has_free(segment.first_output + i)) ++segment.blockers;
  auto end_step = kLastStep;
  const auto wake = [address = address(), number] {
    if (auto self = caf::actor_cast<caf::actor>(address)) post(self, Advance{number});
  };
  for (std::size_t i = 0; i < segment.work->task_count(); ++i)
    guard(segment, i, [&] { end_step = std::min(end_step, segment.work->begin_task(i, run, wake)); });
  return segment.failure ? first_step_ : end_step;
}

void SegmentActor::send_tokens(SegmentState& segment) {
  for (std::uint32_t i = 0; i < segment.outputs(); ++i) {
    const auto output = segment.first_output + i;
    if (ports_.output_wire(output).initial_tokens == 0) continue;
    ports_.send_tokens(output, first_step_,
                       [&](std::uint32_t slot) { return segment.work->token(static_cast<std::int32_t>(i), slot); });
  }
}

std::int64_t SegmentActor::on_pause() {
  sources_open_ = false;
  auto next_step = first_step_;
  for (const auto& segment : segments_) {
    if (!segment.is_source) continue;
    const bool in_firing = segment.task > 0 || segment.state == State::running || segment.state == State::pending;
    next_step = std::max(next_step, step_of(segment) + (in_firing ? 1 : 0));
  }
  return next_step;
}

void SegmentActor::on_run_until(std::int64_t end_step) {
  end_step_ = std::min(end_step_, end_step);
  sources_open_ = true;
  for (std::uint32_t number = 0; number < segments_.size(); ++number) {
    auto& segment = segments_[number];
    if (!segment.is_source || segment.ended || segment.state != State::idle) continue;
    if (step_of(segment) >= end_step_)
      end(segment);
    else if (segment.blockers == 0)
      make_ready(number);
  }
}

void SegmentActor::on_stop() {
  for (auto& segment : segments_)
    if (!segment.finished) segment.work->abandon_work();
  segments_.clear();
  ready_.clear();
  setup_.busy_thread = nullptr;
}

// ---- what the ports tell

void SegmentActor::unblock(std::uint32_t number) {
  auto& segment = segments_[number];
  if (--segment.blockers == 0) make_ready(number);
}

void SegmentActor::on_arrival(std::uint32_t input) {
  const auto number = segment_of_input_[input];
  auto& segment = segments_[number];
  if (segment.ended)
    ports_.drain(input);
  else if (ports_.waiting(input) == 1)
    unblock(number);
}

void SegmentActor::on_free(std::uint32_t output, std::uint32_t slot) {
  const auto number = segment_of_output_[output];
  auto& segment = segments_[number];
  const auto index = output - segment.first_output;
  if (!segment.kept[index].empty()) {
    const auto port = static_cast<std::uint32_t>(segment.work->layout().outputs[index].alias_port);
    ports_.give_back(segment.first_input + port, segment.kept[index][slot],
                     segment.work->after(ports_.take_last_uses(output, slot)));
  }
  if (segment.ended)
    report_if_finished(segment);
  else if (ports_.free_slots(output) == 1)
    unblock(number);
}

void SegmentActor::on_ended(std::uint32_t input) {
  may_be_drained_.push_back(segment_of_input_[input]);
  if (!ending_) end_drained();
}

/// One that ends tells the next: in turn, not one within the other, as deep as a chain of segments is long.
void SegmentActor::end_drained() {
  ending_ = true;
  while (!may_be_drained_.empty()) {
    auto& segment = segments_[may_be_drained_.back()];
    may_be_drained_.pop_back();
    if (segment.state == State::idle && !segment.ended) end_if_drained(segment);
  }
  ending_ = false;
}

}  // namespace troupe
