#include "troupe/actors/run/ports.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"

namespace troupe {

void Ports::wire(std::uint64_t generation, std::vector<InputWire> inputs, std::vector<OutputWire> outputs) {
  generation_ = generation;
  for (auto& wire : inputs) {
    const auto capacity = wire.capacity;
    inputs_.push_back({std::move(wire), InputQueue(capacity)});
  }
  for (auto& wire : outputs) {
    OutputSlots slots(wire.capacity, static_cast<std::uint32_t>(wire.consumers.size()));
    outputs_.push_back({std::move(wire), std::move(slots), {}});
  }
}

void Ports::prepare(std::uint64_t run) {
  run_ = run;
}

void Ports::clear() {
  inputs_.clear();
  outputs_.clear();
}

template <class Message>
void Ports::tell(const caf::actor& peer, Message message) {
  if (caf::actor_cast<caf::abstract_actor*>(peer) == &self_)
    accept(message);
  else
    self_.send(peer, std::move(message));
}

void Ports::accept(TensorReady& ready) {
  if (ready.stamp.generation != generation_) return;
  auto& input = inputs_.at(ready.port);
  input.queue.push({ready.slot, ready.stamp.run, ready.stamp.step, std::move(ready.tensor), std::move(ready.failure)});
  if (ready.stamp.run <= run_) listener_.on_arrival(ready.port);
}

void Ports::accept(const CreditReturned& returned) {
  if (returned.generation != generation_) return;
  if (outputs_.at(returned.output).slots.give_back(returned.slot, returned.consumer))
    listener_.on_free(returned.output, returned.slot);
}

void Ports::accept(const DataEnded& ended) {
  if (ended.stamp.generation != generation_) return;
  inputs_.at(ended.port).ended_run = ended.stamp.run;
  if (ended.stamp.run == run_) listener_.on_ended(ended.port);
}

void Ports::give_back(std::uint32_t input, Arrival& arrival) {
  arrival.tensor = Tensor();
  arrival.failure = nullptr;
  const auto& producer = inputs_[input].wire.producer;
  tell(producer.actor, CreditReturned{producer.output, arrival.slot, producer.consumer, generation_});
}

void Ports::drain(std::uint32_t input) {
  while (inputs_[input].wire.initial_tokens == 0 && has(input)) {
    auto arrival = take(input);
    give_back(input, arrival);
  }
}

void Ports::note_token(Output& output, Token token) {
  if (output.tokens.size() == output.wire.initial_tokens) output.tokens.erase(output.tokens.begin());
  output.tokens.push_back(token);
}

void Ports::send(std::uint32_t number, std::uint32_t slot, std::int64_t step, const Tensor& tensor,
                 const FailurePtr& failure) {
  auto& output = outputs_[number];
  if (output.wire.initial_tokens > 0) note_token(output, {slot, step});
  for (const auto& consumer : output.wire.consumers)
    tell(consumer.actor, TensorReady{consumer.port, slot, stamp(step), tensor, failure});
}

void Ports::send_missing_tokens(std::uint32_t number, std::int64_t first_step,
                                const std::function<Tensor(std::uint32_t slot)>& tensor_of) {
  auto& output = outputs_[number];
  const auto tokens = output.wire.initial_tokens;
  for (auto i = static_cast<std::uint32_t>(output.tokens.size()); i < tokens; ++i) {
    const auto slot = output.slots.take();
    send(number, slot, first_step - tokens + i, tensor_of(slot), nullptr);
  }
  for (const auto& token : output.tokens) {
    for (std::uint32_t i = 0; i < output.slots.consumers(); ++i) {
      if (output.slots.is_held(token.slot, i)) continue;
      output.slots.take(token.slot, i);
      const auto& consumer = output.wire.consumers[i];
      tell(consumer.actor, TensorReady{consumer.port, token.slot, stamp(token.step), tensor_of(token.slot), nullptr});
    }
  }
}

void Ports::send_over(std::uint32_t number, std::uint32_t slot, const Stamp& stamp, const Tensor& tensor,
                      const FailurePtr& failure) {
  auto& output = outputs_[number];
  if (slot >= output.slots.capacity()) throw Error("link", "there is no slot " + std::to_string(slot));
  for (std::uint32_t i = 0; i < output.slots.consumers(); ++i) {
    if (output.slots.is_held(slot, i)) throw Error("link", "slot " + std::to_string(slot) + " is full already");
    output.slots.take(slot, i);
  }
  for (const auto& consumer : output.wire.consumers)
    tell(consumer.actor, TensorReady{consumer.port, slot, stamp, tensor, failure});
}

void Ports::end_over(std::uint32_t output, const Stamp& stamp) {
  for (const auto& consumer : outputs_[output].wire.consumers) tell(consumer.actor, DataEnded{consumer.port, stamp});
}

bool Ports::all_at_rest() const {
  for (std::uint32_t i = 0; i < outputs(); ++i)
    if (!at_rest(i)) return false;
  return true;
}

std::string Ports::awaited_credit(std::uint32_t number) const {
  const auto& output = outputs_[number];
  const auto holder = output.slots.holder();
  const auto name = holder ? output.wire.consumer_names[*holder] : std::string("nobody");
  return "waits for '" + name + "' to return '" + output.wire.edge + "'";
}

std::string Ports::awaited_tensor(std::uint32_t number) const {
  const auto& wire = inputs_[number].wire;
  return "waits for '" + wire.producer_name + "' to send '" + wire.edge + "'";
}

}  // namespace troupe
