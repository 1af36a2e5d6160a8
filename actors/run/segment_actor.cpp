#include "troupe/actors/run/segment_actor.hpp"

#include <algorithm>
#include <caf/send.hpp>

#include "troupe/actors/run/thread_pinning.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

SegmentActor::SegmentActor(caf::actor_config& config, HostSetup setup)
    : caf::event_based_actor(config), setup_(std::move(setup)) {
  std::uint32_t ports = 0, outputs = 0;
  for (auto index : setup_.segments) {
    SegmentState segment;
    segment.work = std::make_unique<Segment>(*setup_.plan, setup_.plan->segments[index], setup_.blocks);
    segment.first_port = ports;
    segment.first_output = outputs;
    segment.current.resize(segment.work->layout().ports.size());
    ports += static_cast<std::uint32_t>(segment.work->layout().ports.size());
    outputs += static_cast<std::uint32_t>(segment.work->layout().outputs.size());
    segments_.push_back(std::move(segment));
  }
  setup_.blocks.clear();
  set_exception_handler([this](std::exception_ptr& error) -> caf::error {
    if (supervisor_) {
      const auto step = segments_.empty() ? first_step_ : step_of(segments_[0]);
      send(supervisor_, StepFailed{std::make_shared<Failure>(Failure{setup_.status->name, step, 0, text_of(error)})});
    }
    return caf::sec::runtime_error;
  });
}

caf::behavior SegmentActor::make_behavior() {
  // Whatever message comes ends with work(): a segment that stopped half-way because of it must go on.
  return {
      [this](TensorReady& ready) {
        arrive(ready.port, {ready.slot, std::move(ready.tensor), std::move(ready.failure)});
        work();
      },
      [this](const CreditReturned& returned) {
        credit(returned);
        work();
      },
      [this](const Continue&) {
        continuing_ = false;
        work();
      },
      [this](const Advance& advance) {
        if (segments_[advance.segment].state == State::pending) run_tasks(advance.segment);
        work();
      },
      [this](const EndOfData& end) {
        end_port(end.port);
        work();
      },
      [this](Wire& order) { wire(order); },
      [this](const Begin& order) { begin(order); },
      [this](const Start&) { start(); },
      [this](const Pause& order) {
        pause(order.run);
        work();
      },
      [this](const RunUntil& order) { run_until(order.step); },
      [this](const Describe& order) {
        describe(*order.report);
        work();
      },
      [this](const Stop&) { stop(); },
  };
}

// ---- orders of the supervisor

void SegmentActor::wire(Wire& order) {
  if (setup_.core >= 0) pin_this_thread(setup_.core);
  supervisor_ = order.supervisor;
  for (std::uint32_t s = 0; s < segments_.size(); ++s) {
    const auto& layout = segments_[s].work->layout();
    for (std::size_t i = 0; i < layout.ports.size(); ++i) {
      auto& input = order.inputs[ports_.size()];
      const auto capacity = input.capacity;
      ports_.push_back({std::move(input), s, static_cast<std::int32_t>(i), InputQueue(capacity), false});
    }
    for (std::size_t i = 0; i < layout.outputs.size(); ++i) {
      auto& output = order.outputs[outputs_.size()];
      OutputSlots slots(output.capacity, static_cast<std::uint32_t>(output.consumers.size()));
      const auto held = layout.outputs[i].alias_port == kNone ? 0 : output.capacity;
      outputs_.push_back({std::move(output), s, static_cast<std::int32_t>(i), std::move(slots), 0, {}});
      outputs_.back().held_inputs.resize(held);
    }
  }
  for (auto& segment : segments_) segment.is_source = segment.work->has_source();
  tell(supervisor_, Prepared{});
}

void SegmentActor::begin(const Begin& order) {
  first_step_ = order.first_step;
  until_ = end_of(order);
  sources_open_ = false;
  const RunInfo run{order.first_step, order.max_steps, order.epoch};
  for (auto& port : ports_) port.ended = false;
  if (!tokens_sent_) send_initial_tokens();
  for (std::uint32_t s = 0; s < segments_.size(); ++s) {
    auto& segment = segments_[s];
    segment.fired = 0;
    segment.failure = nullptr;
    segment.ended = segment.finished = false;
    segment.blockers = 0;
    for (std::size_t i = 0; i < segment.current.size(); ++i)
      if (port_of(segment, i).queue.empty()) ++segment.blockers;
    for (std::size_t i = 0; i < segment.work->layout().outputs.size(); ++i)
      if (!output_of(segment, i).slots.has_free()) ++segment.blockers;
    segment.work->begin(run, [address = address(), s] {
      if (auto self = caf::actor_cast<caf::actor>(address)) caf::anon_send(self, Advance{s});
    });
  }
  tell(supervisor_, Prepared{});
}

void SegmentActor::send_initial_tokens() {
  tokens_sent_ = true;
  for (auto& output : outputs_) {
    auto& segment = segments_[output.segment];
    for (std::uint32_t token = 0; token < output.wire.initial_tokens; ++token) {
      output.current = output.slots.take();
      segment.work->start(setup_.plan->max_rows, first_step_);
      const auto tensor = segment.work->sent_tensor(output.index, output.current, Tensor());
      for (const auto& consumer : output.wire.consumers)
        tell(consumer.actor, TensorReady{consumer.port, output.current, tensor, nullptr});
    }
  }
}

void SegmentActor::start() {
  sources_open_ = true;
  for (std::uint32_t s = 0; s < segments_.size(); ++s)
    if (segments_[s].is_source && segments_[s].blockers == 0) make_ready(s);
  work();
}

void SegmentActor::pause(std::uint64_t run) {
  sources_open_ = false;
  auto next_step = first_step_;
  for (const auto& segment : segments_) {
    if (!segment.is_source) continue;
    const bool in_firing = segment.task > 0 || segment.state == State::running || segment.state == State::pending;
    next_step = std::max(next_step, step_of(segment) + (in_firing ? 1 : 0));
  }
  tell(supervisor_, SourcePaused{run, next_step});
}

void SegmentActor::run_until(std::int64_t step) {
  until_ = std::min(until_, step);
  sources_open_ = true;
  for (std::uint32_t s = 0; s < segments_.size(); ++s) {
    auto& segment = segments_[s];
    if (!segment.is_source || segment.ended || segment.state != State::idle) continue;
    if (step_of(segment) >= until_)
      end(segment);
    else if (segment.blockers == 0)
      make_ready(s);
  }
  work();
}

void SegmentActor::stop() {
  segments_.clear();
  ready_.clear();
  ports_.clear();
  outputs_.clear();
  supervisor_ = nullptr;
  quit();
}

// ---- credits

void SegmentActor::unblock(SegmentState& segment) {
  if (--segment.blockers == 0 && may_fire(segment)) make_ready(static_cast<std::uint32_t>(&segment - segments_.data()));
}

void SegmentActor::arrive(std::uint32_t number, Arrival arrival) {
  auto& port = ports_[number];
  auto& segment = segments_[port.segment];
  if (segment.ended && !port.token()) {
    return_credit(port, arrival);
    return;
  }
  const bool was_empty = port.queue.empty();
  port.queue.push(std::move(arrival));
  if (was_empty && !segment.ended) unblock(segment);
}

void SegmentActor::return_credit(Port& port, Arrival& arrival) {
  arrival.tensor = Tensor();
  arrival.failure = nullptr;
  const auto& producer = port.wire.producer;
  tell(producer.actor, CreditReturned{producer.output, arrival.slot, producer.consumer});
}

void SegmentActor::check_surrendered([[maybe_unused]] const Output& output, [[maybe_unused]] std::uint32_t slot) {
#ifdef TROUPE_CHECKS
  if (segments_[output.segment].work->handles_outside(output.index, slot) > 0)
    throw Error("credit", "a consumer of '" + output.wire.edge + "' returned a slot but still holds its tensor");
#endif
}

void SegmentActor::credit(const CreditReturned& returned) {
  auto& output = outputs_.at(returned.output);
  auto& segment = segments_[output.segment];
  const bool had_free = output.slots.has_free();
  if (!output.slots.give_back(returned.slot, returned.consumer)) return;
  check_surrendered(output, returned.slot);
  if (!output.held_inputs.empty())
    return_credit(port_of(segment, static_cast<std::size_t>(segment.work->layout().outputs[output.index].alias_port)),
                  output.held_inputs[returned.slot]);
  if (segment.ended)
    report_if_finished(segment);
  else if (!had_free)
    unblock(segment);
}

void SegmentActor::end_port(std::uint32_t number) {
  auto& port = ports_.at(number);
  port.ended = true;
  auto& segment = segments_[port.segment];
  if (segment.state == State::idle && !segment.ended) end_if_drained(segment);
}

}  // namespace troupe
