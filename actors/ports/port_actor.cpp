#include "troupe/actors/ports/port_actor.hpp"

#include <algorithm>
#include <caf/message_handler.hpp>

#include "troupe/actors/ports/port_state.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/float_mode.hpp"

namespace troupe {

// ---- orders of the supervisor

std::int64_t PortActor::on_prepare(const PrepareRun& order) {
  step_ = next_step_ = order.info.first_step;
  end_step_ = end_of(order.info);
  open_ = ended_ = finished_ = false;
  for (std::uint32_t output = 0; output < ports_.outputs(); ++output)
    if (ports_.output_wire(output).initial_tokens > 0)
      ports_.send_tokens(output, step_, [&](std::uint32_t slot) { return token(output, slot); });
  on_run(order.info);
  return is_source() ? step_after(step_, steps_left().value_or(kLastStep)) : kLastStep;
}

std::int64_t PortActor::on_pause() {
  open_ = false;
  return next_step_;
}

void PortActor::on_run_until(std::int64_t end_step) {
  end_step_ = std::min(end_step_, end_step);
  open_ = true;
}

// ---- notifications of the ports

void PortActor::on_arrival(std::uint32_t input) {
  if (ended_) ports_.drain(input);
}

void PortActor::on_free(std::uint32_t output, std::uint32_t slot) {
  try {
    const auto token = sent_tokens_.find({output, slot});
    if (!sent_tensors_.remove(output, slot, token == sent_tokens_.end() ? nullptr : &token->second))
      throw Error(name_in_plan(), "the tensor that output " + std::to_string(output) +
                                      " carried was written to before its slot was free: send a new tensor each time");
    refusals_.begin();
    if (!ended_) on_slot_free(output, slot);
    if (own_rule_) refusals_.end(ports_, output, slot, name_in_plan());
  } catch (...) {
    fail();
  }
  if (ended_) report_if_finished();
}

// ---- firing

bool PortActor::is_source() const {
  for (std::uint32_t input = 0; input < ports_.inputs(); ++input)
    if (ports_.input_wire(input).initial_tokens == 0) return false;
  return true;
}

void PortActor::work() {
  if (ended_ || !is_wired() || std::exchange(working_, true)) return;
  const DefaultFloatMode mode;
  try {
    advance();
  } catch (...) {
    fail();
  }
  working_ = false;
  if (!ended_) end_with_inputs();
}

FailurePtr PortActor::failure_now() const {
  return current_failure({.rank = rank(), .actor = name_in_plan(), .step = next_step_});
}

FailurePtr PortActor::failure_of(int replica, std::int64_t step) const {
  return current_failure({.rank = rank(), .replica = replica, .actor = name_in_plan(), .step = step});
}

void PortActor::fail() {
  report_failure(failure_now());
  end();
}

void PortActor::return_all(const std::vector<HeldArrivals::Origin>& held) {
  for (const auto& origin : held) {
    Arrival arrival{.slot = origin.slot};
    ports_.give_back(origin.input, arrival);
  }
}

void PortActor::end_with_inputs() {
  // The actor ends once it holds no tensor and every input without initial tokens is drained (see Ports::drained()). If
  // every input has initial tokens, every input must be drained.
  const bool only_tokens = is_source();
  for (std::uint32_t input = 0; input < ports_.inputs(); ++input)
    if ((only_tokens || ports_.input_wire(input).initial_tokens == 0) && !ports_.drained(input)) return;
  if (ports_.inputs() > 0 && held_.empty()) end();
}

void PortActor::advance() {
  own_rule_ = false;
  while (!ended_) {
    if (ports_.drained(ports_.all())) return end();
    if (is_source() && !may_fire_now()) return;
    if (ended_ || ports_.blockers(ports_.all()) > 0) return;
    fire_once();
  }
}

bool PortActor::may_fire_now() {
  if (!open_) return false;
  const auto next_step = step_ >= end_step_ ? Next::end : next(step_);
  status_->waits_outside.store(next_step == Next::wait, std::memory_order_relaxed);
  if (next_step == Next::end) end();
  return next_step == Next::fire;
}

void PortActor::fire_once() {
  std::vector<Arrival> arrivals;
  std::vector<Tensor> tensors, results(ports_.outputs());
  FailurePtr failure;
  for (std::uint32_t input = 0; input < ports_.inputs(); ++input) {
    arrivals.push_back(ports_.take(input));
    tensors.push_back(arrivals.back().tensor);
    if (arrivals.back().failure && !failure) failure = arrivals.back().failure;
  }
  if (!failure) failure = fire_guarded(tensors, results);
  for (std::uint32_t output = 0; output < ports_.outputs(); ++output) {
    if (failure) results[output] = Tensor();
    send_slot(output, results[output], failure, step_);
  }
  tensors.clear();
  for (std::uint32_t input = 0; input < ports_.inputs(); ++input) ports_.give_back(input, arrivals[input]);
  next_step_ = ++step_;
  note_step(step_ - 1);
  status_->count_firing();
}

/// Throws Error if an output shares memory with an input: the producer of the input overwrites this memory once the
/// input is returned to it, while consumers may still read the output.
void PortActor::expect_own_memory(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const {
  for (std::uint32_t o = 0; o < outputs.size(); ++o)
    for (std::uint32_t i = 0; i < inputs.size(); ++i)
      if (overlap(memory_of(inputs[i]), memory_of(outputs[o])) &&
          ports_.input_wire(i).producer.actor != caf::actor(this))
        throw Error(name_in_plan(), "output " + std::to_string(o) + " shares memory with input " + std::to_string(i) +
                                        ", which is returned to its producer after fire(): send a clone() of it");
}

FailurePtr PortActor::fire_guarded(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  try {
    try {
      fire(step_, inputs, outputs);
    } catch (const EndRun& end) {
      report_end(end);
    }
    for (std::uint32_t i = 0; i < outputs.size(); ++i)
      if (!ports_.output_wire(i).consumers.empty()) ports_.expect_planned(i, outputs[i], name_in_plan());
    expect_own_memory(inputs, outputs);
    return nullptr;
  } catch (...) {
    auto failure = failure_now();
    report_failure(failure);
    return failure;
  }
}

void PortActor::report_if_finished() {
  if (finished_ || !ports_.at_rest(ports_.all())) return;
  return_all(held_.take_all());
  finished_ = true;
  report_finished();
}

std::string PortActor::waits_for() const {
  if (own_rule_ && !ended_) return is_source() && !open_ ? "is paused" : state_of(ports_, held_.size());
  for (std::uint32_t output = 0; output < ports_.outputs(); ++output)
    if (ended_ ? !ports_.at_rest(output) : !ports_.has_free(output)) return ports_.awaited_credit(output);
  if (ended_) return "has ended";
  for (std::uint32_t input = 0; input < ports_.inputs(); ++input)
    if (!ports_.has(input)) return ports_.awaited_tensor(input);
  if (status_->waits_outside.load(std::memory_order_relaxed)) return "waits for poll_again(), for its next data";
  return is_source() && !open_ ? "is paused" : "is about to fire";
}

void PortActor::describe(StallReport& report) {
  // An actor with its own rule has no current step: the step is the highest one that it has sent.
  const auto step = own_rule_ ? std::max<std::int64_t>(0, next_step_ - 1) : step_;
  report.add(name_in_plan(), {"'" + name_in_plan() + "' (step " + std::to_string(step) + ") " + waits_for()});
}

}  // namespace troupe
