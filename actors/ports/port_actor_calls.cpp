// The functions of PortActor that subclasses call.

#include <algorithm>

#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

void PortActor::fire(std::int64_t, std::span<const Tensor>, std::span<Tensor>) {
  throw Error(name_in_plan(), "overrides neither fire() nor advance()");
}

Tensor PortActor::initial_token(std::uint32_t output) {
  throw Error(name_in_plan(), "output " + std::to_string(output) +
                                  " has initial tokens, but the actor does not say what they carry: override "
                                  "initial_token()");
}

std::uint32_t PortActor::expect_input(std::uint32_t input) const {
  if (input < inputs()) return input;
  throw Error(name_in_plan(),
              "has " + std::to_string(inputs()) + " inputs, so none has the number " + std::to_string(input));
}

std::uint32_t PortActor::expect_output(std::uint32_t output) const {
  if (output < outputs()) return output;
  throw Error(name_in_plan(),
              "has " + std::to_string(outputs()) + " outputs, so none has the number " + std::to_string(output));
}

bool PortActor::was_refused(std::uint32_t output, std::uint32_t slot) const {
  return refusals_.ask(ports_, expect_output(output), slot, name_in_plan());
}

Arrival PortActor::take(std::uint32_t input) {
  if (!ports_.has(expect_input(input)))
    throw Error(name_in_plan(), "input " + std::to_string(input) + " holds no tensor");
  auto arrival = ports_.take(input);
  held_.add(input, arrival);
  return arrival;
}

void PortActor::give_back(std::uint32_t input, Arrival& arrival) {
  drop_held(input, arrival);
  ports_.give_back(input, arrival);
}

void PortActor::refuse(std::uint32_t input, Arrival& arrival) {
  drop_held(input, arrival);
  ports_.refuse(input, arrival);
}

/// Notes that the actor returns a tensor, which counts as a firing: an actor with its own rule may have no output.
void PortActor::drop_held(std::uint32_t input, const Arrival& arrival) {
  expect_input(input);
  if (const auto output = sent_tensors_.output_with(held_.sent_memory(input, arrival)))
    throw Error(name_in_plan(), "returns a tensor of input " + std::to_string(input) + ", which output " +
                                    std::to_string(*output) +
                                    " still carries: return it once on_slot_free() tells that the slot is free");
  if (!held_.remove(input, arrival)) throw Error(name_in_plan(), "returned a tensor that it did not hold");
  status_->count_firing();
}

std::uint32_t PortActor::send_output(std::uint32_t output, Tensor tensor, std::int64_t step) {
  ports_.expect_planned(expect_output(output), tensor, name_in_plan());
  return send_by_rule(output, tensor, nullptr, step);
}

std::uint32_t PortActor::send_failure(std::uint32_t output, const FailurePtr& failure, std::int64_t step) {
  expect_output(output);
  if (!failure) throw Error(name_in_plan(), "calls send_failure() without a failure");
  return send_by_rule(output, {}, failure, step);
}

std::uint32_t PortActor::send_by_rule(std::uint32_t output, const Tensor& tensor, const FailurePtr& failure,
                                      std::int64_t step) {
  if (ended_) throw Error(name_in_plan(), "sends on output " + std::to_string(output) + " after the end of its run");
  if (lost_output(output))
    throw Error(name_in_plan(), "output " + std::to_string(output) + " leads to a process that was lost");
  if (!has_free(output)) throw Error(name_in_plan(), "output " + std::to_string(output) + " has no free slot");
  held_.note_sent(tensor);
  const auto slot = send_slot(output, tensor, failure, step);
  // An actor with its own firing rule publishes the highest step that it has sent.
  next_step_ = std::max(next_step_, step + 1);
  note_step(next_step_ - 1);
  if (!failure) status_->count_firing();
  return slot;
}

std::uint32_t PortActor::send_slot(std::uint32_t output, const Tensor& tensor, const FailurePtr& failure,
                                   std::int64_t step) {
  const auto slot = ports_.take_slot(output);
  if (!ports_.output_wire(output).consumers.empty()) sent_tensors_.add(output, slot, tensor);
  ports_.send(output, slot, step, {tensor}, failure);
  keep_token(output, slot, tensor);
  return slot;
}

/// For an output with initial tokens: keeps the tensor that was sent in a slot. The tensors sent last are the tokens
/// with which the next run begins; see token().
void PortActor::keep_token(std::uint32_t output, std::uint32_t slot, const Tensor& tensor) {
  if (ports_.output_wire(output).initial_tokens > 0) sent_tokens_[{output, slot}] = tensor;
}

SentTensor PortActor::token(std::uint32_t output, std::uint32_t slot) {
  auto& token = sent_tokens_[{output, slot}];
  if (!token) {
    token = initial_token(output);
    ports_.expect_planned(output, token, name_in_plan());
  }
  if (!ports_.output_wire(output).consumers.empty()) sent_tensors_.add(output, slot, token);
  return {token};
}

void PortActor::end() {
  if (std::exchange(ended_, true)) return;
  status_->waits_outside.store(false, std::memory_order_relaxed);
  return_all(held_.take_unsent());
  ports_.end(ports_.all());
  report_if_finished();
}

void PortActor::expect_run() const {
  if (finished_) throw Error(name_in_plan(), "has its parameters only while a run is in progress");
}

std::size_t PortActor::parameters() const {
  expect_run();
  return parameters_.size();
}

const Tensor& PortActor::parameter(std::size_t i) const {
  expect_run();
  return parameters_.tensor(i);
}

void PortActor::update_parameter(std::size_t i, const std::function<void(const Tensor& parameter)>& write) {
  expect_run();
  parameters_.update(i, write);
}

void PortActor::update_parameters(const std::function<void()>& write) {
  expect_run();
  parameters_.update_all(write);
}

void PortActor::amend_parameters(const std::function<void()>& write) {
  expect_run();
  parameters_.amend_all(write);
}

std::int64_t PortActor::updates_of(std::size_t i) const {
  expect_run();
  return parameters_.updates_of(i);
}

}  // namespace troupe
