#include "troupe/actors/run/port_actor.hpp"

#include <algorithm>
#include <caf/message_handler.hpp>

#include "troupe/actors/run/run_status.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

PortActor::PortActor(caf::actor_config& config) : caf::event_based_actor(config) {
  set_exception_handler([this](std::exception_ptr& error) -> caf::error {
    if (supervisor_)
      send(supervisor_, StepFailed{std::make_shared<Failure>(Failure{status_->name, step_, 0, text_of(error)})});
    return caf::sec::runtime_error;
  });
}

caf::behavior PortActor::make_behavior() {
  caf::message_handler handlers{
      [this](TensorReady& ready) {
        arrive(ready);
        work();
      },
      [this](const CreditReturned& credit) {
        outputs_.at(credit.output).slots.give_back(credit.slot, credit.consumer);
        if (ended_) return report_if_finished();
        work();
      },
      [this](const EndOfData& end_of) {
        inputs_.at(end_of.port).ended = true;
        work();
      },
      [this](Wire& order) { wire(order); },
      [this](const Begin& order) { begin(order); },
      [this](const Start&) {
        open_ = true;
        work();
      },
      [this](const Pause& order) {
        open_ = false;
        send(supervisor_, SourcePaused{order.run, step_});
      },
      [this](const RunUntil& order) {
        until_ = std::min(until_, order.step);
        open_ = true;
        work();
      },
      [this](const Describe& order) {
        if (status_) order.report->add(status_->name, "'" + status_->name + "' " + waits_for());
      },
      [this](const Stop&) {
        inputs_.clear();
        outputs_.clear();
        supervisor_ = nullptr;
        quit();
      },
  };
  return handlers.or_else(own_handlers());
}

bool PortActor::is_source() const {
  return std::all_of(inputs_.begin(), inputs_.end(), [](const Input& input) { return input.wire.initial_tokens > 0; });
}

void PortActor::wire(Wire& order) {
  status_ = order.status;
  supervisor_ = order.supervisor;
  for (auto& input : order.inputs) {
    const auto capacity = input.capacity;
    inputs_.push_back({std::move(input), InputQueue(capacity), false});
  }
  for (auto& output : order.outputs) {
    OutputSlots slots(output.capacity, static_cast<std::uint32_t>(output.consumers.size()));
    outputs_.push_back({std::move(output), std::move(slots)});
  }
  send(supervisor_, Prepared{});
}

void PortActor::begin(const Begin& order) {
  step_ = order.first_step;
  until_ = end_of(order);
  open_ = ended_ = finished_ = false;
  for (auto& input : inputs_) input.ended = false;
  send(supervisor_, Prepared{});
}

void PortActor::arrive(TensorReady& ready) {
  auto& input = inputs_.at(ready.port);
  if (ended_ && input.wire.initial_tokens == 0) {
    ready.tensor = Tensor();
    return return_credit(input, ready.slot);
  }
  input.queue.push({ready.slot, std::move(ready.tensor), std::move(ready.failure)});
}

void PortActor::return_credit(Input& input, std::uint32_t slot) {
  const auto& producer = input.wire.producer;
  send(producer.actor, CreditReturned{producer.output, slot, producer.consumer});
}

bool PortActor::can_fire() const {
  return std::none_of(inputs_.begin(), inputs_.end(), [](const Input& input) { return input.queue.empty(); }) &&
         std::all_of(outputs_.begin(), outputs_.end(), [](const Output& output) { return output.slots.has_free(); });
}

void PortActor::work() {
  while (!ended_) {
    const bool drained = std::any_of(inputs_.begin(), inputs_.end(),
                                     [](const Input& input) { return input.ended && input.queue.empty(); });
    if (drained) return end();
    if (is_source()) {
      if (!open_) return;
      if (step_ >= until_ || !has_step(step_)) return end();
    }
    if (!can_fire()) return;
    fire_once();
  }
}

void PortActor::fire_once() {
  std::vector<Tensor> inputs, outputs(outputs_.size());
  std::vector<std::uint32_t> slots;
  FailurePtr failure;
  for (auto& input : inputs_) {
    auto arrival = input.queue.pop();
    slots.push_back(arrival.slot);
    inputs.push_back(std::move(arrival.tensor));
    if (arrival.failure && !failure) failure = std::move(arrival.failure);
  }
  if (!failure) failure = fire_guarded(inputs, outputs);
  send_outputs(outputs, failure);
  inputs.clear();
  for (std::size_t i = 0; i < inputs_.size(); ++i) return_credit(inputs_[i], slots[i]);
  ++step_;
  status_->count_firing();
}

FailurePtr PortActor::fire_guarded(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  std::string what;
  try {
    fire(step_, inputs, outputs);
    const bool complete =
        std::all_of(outputs.begin(), outputs.end(), [](const Tensor& tensor) { return bool(tensor); });
    if (complete) return nullptr;
    what = "[" + status_->name + "] an output was not set";
  } catch (const std::exception& error) {
    what = error.what();
  }
  const auto failure = std::make_shared<Failure>(Failure{status_->name, step_, 0, what});
  send(supervisor_, StepFailed{failure});
  return failure;
}

void PortActor::send_outputs(std::span<const Tensor> outputs, const FailurePtr& failure) {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const auto slot = outputs_[i].slots.take();
    for (const auto& consumer : outputs_[i].wire.consumers)
      send(consumer.actor, TensorReady{consumer.port, slot, failure ? Tensor() : outputs[i], failure});
  }
}

void PortActor::end() {
  ended_ = true;
  for (const auto& output : outputs_)
    for (const auto& consumer : output.wire.consumers) send(consumer.actor, EndOfData{consumer.port});
  for (auto& input : inputs_)
    while (input.wire.initial_tokens == 0 && !input.queue.empty()) return_credit(input, input.queue.pop().slot);
  report_if_finished();
}

void PortActor::report_if_finished() {
  const bool home = std::all_of(outputs_.begin(), outputs_.end(), [](const Output& output) {
    return output.slots.free_count() == output.slots.capacity();
  });
  if (!home || finished_) return;
  finished_ = true;
  send(supervisor_, RunFinished{});
}

std::string PortActor::waits_for() const {
  for (const auto& output : outputs_) {
    const bool blocked = ended_ ? output.slots.free_count() < output.slots.capacity() : !output.slots.has_free();
    if (blocked)
      return "waits for '" + output.wire.consumer_names[output.slots.holder()] + "' to return '" + output.wire.edge +
             "'";
  }
  for (const auto& input : inputs_)
    if (!ended_ && input.queue.empty())
      return "waits for '" + input.wire.producer_name + "' to send '" + input.wire.edge + "'";
  return ended_ ? "has ended" : "is about to fire";
}

}  // namespace troupe
