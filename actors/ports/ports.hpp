#pragma once

#include <caf/event_based_actor.hpp>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "troupe/actors/messages/messages.hpp"
#include "troupe/actors/ports/input_queue.hpp"
#include "troupe/actors/ports/output_slots.hpp"

namespace troupe {

/// Receives the changes that messages make to the ports of an actor.
class PortsListener {
 public:
  virtual ~PortsListener() = default;
  /// An input holds one more tensor.
  virtual void on_arrival(std::uint32_t input) = 0;
  /// Every consumer has returned a slot.
  virtual void on_free(std::uint32_t output, std::uint32_t slot) = 0;
  /// Nothing more comes over an input in this run.
  virtual void on_ended(std::uint32_t input) = 0;
  /// Work on a device that was to compute a tensor for this actor failed. The returned failure replaces the tensor.
  virtual FailurePtr on_work_failed(Failure failure) = 0;
};

/// The content of a message over an edge.
struct SentTensor {
  Tensor tensor;
  /// The end of the work on a device that computes the tensor: the tensor holds its elements once this event is done.
  Event ready = {};
  /// Sent in place of a tensor that is not in host memory to consumers that read host memory.
  Tensor host_copy = {};
  /// The host copy holds its elements once this event is done.
  Event copied = {};
  /// The collective that a conductor has begun.
  std::shared_ptr<CollectiveStart> start = {};
};

/// Ports of an actor that fire together, such as those of one segment of an executor.
struct PortRange {
  std::uint32_t first_input = 0, inputs = 0, first_output = 0, outputs = 0;

  /// The number of input or output i of the range among the actor's ports.
  std::uint32_t input(std::uint32_t i) const { return first_input + i; }
  std::uint32_t output(std::uint32_t i) const { return first_output + i; }
};

/// The credit protocol: the ends of one actor's edges. All participants of a plan (segments, users' actors and proxies
/// of other processes) exchange tensors through this class alone.
///
/// An input holds the tensors that have arrived, oldest first. A tensor that was taken is returned by give_back(). An
/// output has slots; a slot that was sent is free again when all consumers have returned it. Messages of another
/// generation are ignored. Messages of a run that is not yet prepared wait.
///
/// Ports are on the host unless on_device() is called. On the host a tensor arrives, or a slot becomes free, once the
/// work on devices that it depends on is complete; no thread waits for this work. On a device tensors arrive and slots
/// become free at once, with their events.
///
/// The ports belong to their actor and are used in its handlers only. Edges from the actor to itself need no message.
class Ports {
 public:
  Ports(caf::event_based_actor& self, PortsListener& listener) : self_(self), listener_(listener) {}

  void wire(std::uint64_t generation, std::vector<InputWire> inputs, std::vector<OutputWire> outputs);
  /// Declares that the actor launches its work on devices, whose streams wait for events.
  void on_device() { on_host_ = false; }
  /// Begins a run: tensors that arrived early for it become available, and ended inputs are open again.
  void prepare(std::uint64_t run);
  /// Drops all handles to other actors and to tensors.
  void clear();

  void accept(TensorReady& ready);
  void accept(const CreditReturned& returned);
  void accept(const DataEnded& ended);
  /// Accepts the messages that were held back for work on a device that is complete now.
  void accept(const WorkCompleted& completed);

  std::uint64_t generation() const { return generation_; }
  std::uint32_t inputs() const { return static_cast<std::uint32_t>(inputs_.size()); }
  std::uint32_t outputs() const { return static_cast<std::uint32_t>(outputs_.size()); }
  PortRange all() const { return {0, inputs(), 0, outputs()}; }

  /// Whether the input holds a tensor of this run, or a token.
  bool has(std::uint32_t input) const {
    const auto& queue = inputs_[input].queue;
    return !queue.empty() && queue.front().run <= run_;
  }
  /// The number of tensors at the input, early ones included.
  std::uint32_t waiting(std::uint32_t input) const { return inputs_[input].queue.size(); }
  Arrival take(std::uint32_t input) { return inputs_[input].queue.pop(); }
  /// Returns a slot to its producer and drops the tensor. The slot may be overwritten once `last_use` is done.
  void give_back(std::uint32_t input, Arrival& arrival, const Event& last_use = {}) {
    give_back(input, arrival, last_use, false);
  }
  /// Returns a slot whose tensor was not used because another input that the actor needs was lost.
  void refuse(std::uint32_t input, Arrival& arrival) { give_back(input, arrival, {}, true); }
  /// Whether no more tensors arrive in this run and all that arrived are taken. An input with initial tokens keeps that
  /// number of tensors for the next run.
  bool drained(std::uint32_t input) const {
    const auto& [wire, queue, ended_run, lost] = inputs_[input];
    return ended_run == run_ && !is_late(input) &&
           (wire.initial_tokens == 0 ? !has(input) : queue.size() <= wire.initial_tokens);
  }
  /// Whether the producer was lost in this run and all tensors that it had sent before are taken.
  bool lost(std::uint32_t input) const { return inputs_[input].lost && drained(input); }
  /// Returns all tensors at an input, for an actor that uses no more of them in this run.
  void drain(std::uint32_t input);

  bool has_free(std::uint32_t output) const { return outputs_[output].slots.has_free(); }
  std::uint32_t free_slots(std::uint32_t output) const { return outputs_[output].slots.free_count(); }
  /// Whether a consumer has refused the last tensor of a free slot.
  bool was_refused(std::uint32_t output, std::uint32_t slot) const { return outputs_[output].slots.was_refused(slot); }
  /// Takes a free slot, to be sent later.
  std::uint32_t take_slot(std::uint32_t output) { return outputs_[output].slots.take(); }
  /// For a device: the events after which a free slot may be overwritten. Each is returned once.
  std::vector<Event> take_last_uses(std::uint32_t output, std::uint32_t slot);
  /// Throws Error, with the sender as its place, if the tensor is not set, or its shape or dtype differs from the plan.
  /// A batch may have any number of rows.
  void expect_planned(std::uint32_t output, const Tensor& tensor, const std::string& sender) const;
  /// Sends a slot that was taken, with a tensor or with a failure in its place.
  void send(std::uint32_t output, std::uint32_t slot, std::int64_t step, const SentTensor& sent,
            const FailurePtr& failure);
  /// For proxies: sends the tensor that arrived from the real producer, in the slot and with the stamp of the producer.
  void send_over(std::uint32_t output, std::uint32_t slot, const Stamp& stamp, const Tensor& tensor,
                 const FailurePtr& failure);
  /// Sends the tokens with which a run begins: the last tensors that were sent before, in their slots. In the first run
  /// the tokens have the steps before `first_step`. `tensor_of` returns the tensor of a slot.
  void send_tokens(std::uint32_t output, std::int64_t first_step,
                   const std::function<SentTensor(std::uint32_t slot)>& tensor_of);
  /// Tells the consumers that nothing more comes in this run.
  void end(std::uint32_t output) { end_over(output, stamp(0)); }
  /// For proxies: tells the consumers that the real producer has ended, or was lost.
  void end_over(std::uint32_t output, const Stamp& stamp, bool lost = false);
  /// Whether every slot is free.
  bool at_rest(std::uint32_t output) const {
    const auto& slots = outputs_[output].slots;
    return slots.free_count() == slots.capacity();
  }

  // ---- Several ports

  /// The number of inputs without a tensor and of outputs without a free slot.
  std::uint32_t blockers(const PortRange& ports) const;
  /// True if an input is drained.
  bool drained(const PortRange& ports) const;
  /// Ends the run: tells the consumers, and returns all tensors at the inputs.
  void end(const PortRange& ports);
  /// True if every slot is free.
  bool at_rest(const PortRange& ports) const;
  /// A text that names the first tensor or free slot that is awaited; empty if none is.
  std::string awaited(const PortRange& ports) const;
  /// A text that names the first slot that is not free; empty if all are free.
  std::string awaited_rest(const PortRange& ports) const;

  // ---- The edges

  const InputWire& input_wire(std::uint32_t input) const { return inputs_[input].wire; }
  const OutputWire& output_wire(std::uint32_t output) const { return outputs_[output].wire; }
  /// A text such as `waits for 'b' to return 'a'`, where 'b' is a consumer and 'a' the edge.
  std::string awaited_credit(std::uint32_t output) const;
  /// A text such as `waits for 'b' to send 'a'`, where 'b' is the producer and 'a' the edge.
  std::string awaited_tensor(std::uint32_t input) const;

 private:
  struct Input {
    InputWire wire;
    InputQueue queue;
    std::uint64_t ended_run = 0;
    bool lost = false;
  };
  /// A slot that carries a token, and the step for which it was sent.
  struct Token {
    std::uint32_t slot;
    std::int64_t step;
  };
  struct Output {
    OutputWire wire;
    OutputSlots slots;
    std::vector<std::pair<std::uint32_t, Event>> last_uses;  // by slot, for a device
    std::vector<Token> tokens;  // for edges with initial tokens: the last ones sent, oldest first
  };

  Stamp stamp(std::int64_t step) const { return {generation_, run_, step}; }
  void note_token(Output& output, Token token);
  void send_to(const ConsumerPort& consumer, std::uint32_t slot, const Stamp& stamp, const SentTensor& sent,
               const FailurePtr& failure);
  void tell_if_ended(std::uint32_t input);
  bool hold_back(const Event& event);
  bool is_late(std::uint32_t input) const;
  void arrive(TensorReady& ready);
  void note_failed_work(const InputWire& wire, TensorReady& ready);
  void give_back(std::uint32_t input, Arrival& arrival, const Event& last_use, bool refused);
  void free_slot(const CreditReturned& returned);
  template <class Message>
  void deliver(const caf::actor& peer, Message message);

  caf::event_based_actor& self_;
  PortsListener& listener_;
  std::uint64_t generation_ = 0;
  std::uint64_t run_ = 0;
  bool on_host_ = true;
  // On the host: messages whose events are not done.
  std::list<TensorReady> late_arrivals_;
  std::list<CreditReturned> late_credits_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
};

}  // namespace troupe
