#include "troupe/actors/ports/ports.hpp"

#include <algorithm>

#include "troupe/actors/caf/mail.hpp"
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
    outputs_.push_back({std::move(wire), std::move(slots), {}, {}, {}});
  }
}

void Ports::prepare(std::uint64_t run) {
  run_ = run;
}

void Ports::clear() {
  late_arrivals_.clear();
  late_credits_.clear();
  inputs_.clear();
  outputs_.clear();
}

template <class Message>
void Ports::deliver(const caf::actor& peer, Message message) {
  if (caf::actor_cast<caf::abstract_actor*>(peer) == &self_)
    accept(message);
  else
    tell(self_, peer, std::move(message));
}

void Ports::accept(TensorReady& ready) {
  if (ready.stamp.generation != generation_) return;
  // Tensors of an input arrive in the order in which they were sent: a complete tensor waits for an earlier one that is
  // not complete.
  if (hold_back(ready.ready) || is_late(ready.port))
    late_arrivals_.push_back(std::move(ready));
  else
    arrive(ready);
}

void Ports::arrive(TensorReady& ready) {
  auto& input = inputs_.at(ready.port);
  if (on_host_ && ready.ready.state() != nullptr) note_failed_work(input.wire, ready);
  input.queue.push({ready.slot, ready.stamp.run, ready.stamp.step, std::move(ready.tensor), std::move(ready.failure),
                    std::move(ready.ready), std::move(ready.start)});
  if (ready.stamp.run <= run_) listener_.on_arrival(ready.port);
}

void Ports::note_failed_work(const InputWire& wire, TensorReady& ready) {
  if (const auto error = ready.ready.error(); error && !ready.failure) {
    ready.tensor = Tensor();
    ready.failure = listener_.on_work_failed(
        {.replica = wire.replica, .actor = wire.producer_name, .step = ready.stamp.step, .what = text_of(error)});
  }
  ready.ready = Event();
}

bool Ports::hold_back(const Event& event) {
  if (event.state() == nullptr || !on_host_ || event.done()) return false;
  event.notify([address = self_.address()] {
    if (const auto self = caf::actor_cast<caf::actor>(address)) post(self, WorkCompleted{});
  });
  return true;
}

bool Ports::is_late(std::uint32_t input) const {
  return std::ranges::find(late_arrivals_, input, &TensorReady::port) != late_arrivals_.end();
}

void Ports::accept(const WorkCompleted&) {
  std::list<TensorReady> arrivals;
  std::list<CreditReturned> credits;
  for (auto at = late_arrivals_.begin(); at != late_arrivals_.end();) {
    const auto next = std::next(at);
    const bool is_next =
        std::none_of(late_arrivals_.begin(), at, [&](const TensorReady& earlier) { return earlier.port == at->port; });
    if (is_next && at->ready.done()) arrivals.splice(arrivals.end(), late_arrivals_, at);
    at = next;
  }
  for (auto at = late_credits_.begin(); at != late_credits_.end();) {
    const auto next = std::next(at);
    if (at->last_use.done()) credits.splice(credits.end(), late_credits_, at);
    at = next;
  }
  for (auto& ready : arrivals) arrive(ready);
  for (const auto& ready : arrivals) tell_if_ended(ready.port);
  for (const auto& returned : credits) free_slot(returned);
}

void Ports::accept(const CreditReturned& returned) {
  if (returned.generation != generation_) return;
  if (hold_back(returned.last_use))
    late_credits_.push_back(returned);
  else
    free_slot(returned);
}

void Ports::free_slot(const CreditReturned& returned) {
  if (!on_host_ && returned.last_use.state() != nullptr)
    outputs_.at(returned.output).last_uses.emplace_back(returned.slot, returned.last_use);
  if (outputs_.at(returned.output).slots.give_back(returned.slot, returned.consumer, returned.refused))
    listener_.on_free(returned.output, returned.slot);
}

void Ports::accept(const DataEnded& ended) {
  if (ended.stamp.generation != generation_) return;
  auto& input = inputs_.at(ended.port);
  input.ended_run = ended.stamp.run;
  input.lost = ended.lost;
  tell_if_ended(ended.port);
}

void Ports::accept(const ConsumerLost& lost) {
  if (lost.generation != generation_) return;
  auto& [wire, slots, last_uses, tokens, lost_runs] = outputs_.at(lost.output);
  lost_runs.resize(wire.consumers.size());
  lost_runs.at(lost.consumer) = lost.run;
}

bool Ports::lost_output(std::uint32_t output) const {
  const auto& lost_runs = outputs_[output].lost_runs;
  return !lost_runs.empty() && std::ranges::all_of(lost_runs, [this](auto run) { return run == run_; });
}

void Ports::lose_consumer(std::uint32_t input) {
  const auto& producer = inputs_[input].wire.producer;
  // Without a sender, because a producer that does not know the message would answer it with an error.
  post(producer.actor, ConsumerLost{producer.output, producer.consumer, generation_, run_});
}

void Ports::refuse_all(std::uint32_t input) {
  while (has(input)) {
    auto arrival = take(input);
    refuse(input, arrival);
  }
}

void Ports::tell_if_ended(std::uint32_t input) {
  if (inputs_[input].ended_run == run_ && !is_late(input)) listener_.on_ended(input);
}

std::vector<Event> Ports::take_last_uses(std::uint32_t output, std::uint32_t slot) {
  std::vector<Event> events;
  std::erase_if(outputs_[output].last_uses, [&](auto& use) {
    if (use.first == slot) events.push_back(std::move(use.second));
    return use.first == slot;
  });
  return events;
}

void Ports::give_back(std::uint32_t input, Arrival& arrival, const Event& last_use, bool refused) {
  arrival.tensor = Tensor();
  arrival.failure = nullptr;
  arrival.ready = Event();
  arrival.start = nullptr;
  const auto& producer = inputs_[input].wire.producer;
  deliver(producer.actor,
          CreditReturned{producer.output, arrival.slot, producer.consumer, generation_, last_use, refused});
}

void Ports::drain(std::uint32_t input) {
  while (has(input)) {
    auto arrival = take(input);
    give_back(input, arrival);
  }
}

void Ports::note_token(Output& output, Token token) {
  if (output.tokens.size() == output.wire.initial_tokens) output.tokens.erase(output.tokens.begin());
  output.tokens.push_back(token);
}

void Ports::send_to(const ConsumerPort& consumer, std::uint32_t slot, const Stamp& stamp, const SentTensor& sent,
                    const FailurePtr& failure) {
  const bool copied = consumer.on_host && sent.host_copy;
  deliver(consumer.actor, TensorReady{consumer.port, slot, stamp, copied ? sent.host_copy : sent.tensor, failure,
                                      copied ? sent.copied : sent.ready, sent.start});
}

void Ports::expect_planned(std::uint32_t number, const Tensor& tensor, const std::string& sender) const {
  if (!tensor) throw Error(sender, "output " + std::to_string(number) + " was not set");
  const auto& wire = outputs_[number].wire;
  if (wire.consumers.empty()) return;
  const auto& [shape, dtype] = wire.info;
  const bool same_rank = tensor.shape().rank() == shape.rank();
  const auto planned = shape.has_batch() && same_rank ? shape.with_rows(tensor.shape()[0]) : shape;
  if (tensor.dtype() != dtype || !(tensor.shape() == planned))
    throw Error(sender, "sent " + to_string(tensor) + " where the plan says " + to_string(wire.info));
}

void Ports::send(std::uint32_t number, std::uint32_t slot, std::int64_t step, const SentTensor& sent,
                 const FailurePtr& failure) {
  auto& output = outputs_[number];
  if (output.wire.initial_tokens > 0) note_token(output, {slot, step});
  for (const auto& consumer : output.wire.consumers) send_to(consumer, slot, stamp(step), sent, failure);
}

void Ports::send_tokens(std::uint32_t number, std::int64_t first_step,
                        const std::function<SentTensor(std::uint32_t slot)>& tensor_of) {
  auto& output = outputs_[number];
  const auto count = output.wire.initial_tokens;
  for (auto i = static_cast<std::uint32_t>(output.tokens.size()); i < count; ++i)
    output.tokens.push_back({i, first_step - count + i});
  for (const auto& token : output.tokens) {
    output.slots.take(token.slot);
    const auto sent = tensor_of(token.slot);
    for (const auto& consumer : output.wire.consumers) send_to(consumer, token.slot, stamp(token.step), sent, nullptr);
  }
}

void Ports::send_over(std::uint32_t number, std::uint32_t slot, const Stamp& stamp, const Tensor& tensor,
                      const FailurePtr& failure) {
  auto& output = outputs_[number];
  output.slots.take(slot);
  for (const auto& consumer : output.wire.consumers)
    deliver(consumer.actor, TensorReady{consumer.port, slot, stamp, tensor, failure});
}

void Ports::end_over(std::uint32_t output, const Stamp& stamp, bool lost) {
  for (const auto& consumer : outputs_[output].wire.consumers)
    deliver(consumer.actor, DataEnded{consumer.port, stamp, lost});
}

std::uint32_t Ports::blockers(const PortRange& ports) const {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < ports.inputs; ++i)
    if (!has(ports.input(i))) ++count;
  for (std::uint32_t i = 0; i < ports.outputs; ++i)
    if (!has_free(ports.output(i))) ++count;
  return count;
}

bool Ports::drained(const PortRange& ports) const {
  for (std::uint32_t i = 0; i < ports.inputs; ++i)
    if (drained(ports.input(i))) return true;
  return false;
}

void Ports::end(const PortRange& ports) {
  for (std::uint32_t i = 0; i < ports.outputs; ++i) end(ports.output(i));
  for (std::uint32_t i = 0; i < ports.inputs; ++i) drain(ports.input(i));
}

bool Ports::at_rest(const PortRange& ports) const {
  for (std::uint32_t i = 0; i < ports.outputs; ++i)
    if (!at_rest(ports.output(i))) return false;
  return true;
}

std::string Ports::awaited(const PortRange& ports) const {
  for (std::uint32_t i = 0; i < ports.inputs; ++i)
    if (!has(ports.input(i))) return awaited_tensor(ports.input(i));
  for (std::uint32_t i = 0; i < ports.outputs; ++i)
    if (!has_free(ports.output(i))) return awaited_credit(ports.output(i));
  return {};
}

std::string Ports::awaited_rest(const PortRange& ports) const {
  for (std::uint32_t i = 0; i < ports.outputs; ++i)
    if (!at_rest(ports.output(i))) return awaited_credit(ports.output(i));
  return {};
}

std::string Ports::awaited_credit(std::uint32_t number) const {
  const auto& output = outputs_[number];
  const auto holder = output.slots.holder();
  if (!holder) return "waits for a free slot of '" + output.wire.edge + "'";
  return "waits for '" + output.wire.consumer_names[*holder] + "' to return '" + output.wire.edge + "'";
}

std::string Ports::awaited_tensor(std::uint32_t number) const {
  const auto& wire = inputs_[number].wire;
  if (is_late(number)) return "waits for the device to complete '" + wire.edge + "' of '" + wire.producer_name + "'";
  return "waits for '" + wire.producer_name + "' to send '" + wire.edge + "'";
}

}  // namespace troupe
