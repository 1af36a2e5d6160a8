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

/// Is told what the messages about an actor's edges have changed.
class PortsListener {
 public:
  virtual ~PortsListener() = default;
  /// An input holds a tensor more.
  virtual void on_arrival(std::uint32_t input) = 0;
  /// Every consumer has returned that slot.
  virtual void on_free(std::uint32_t output, std::uint32_t slot) = 0;
  /// Nothing more comes over an input in this run.
  virtual void on_ended(std::uint32_t input) = 0;
  /// Work on a device that made a tensor for this actor failed. What is returned takes the tensor's place.
  virtual FailurePtr on_work_failed(Failure failure) = 0;
};

/// The content of a message over an edge.
struct SentTensor {
  Tensor tensor;
  /// For a tensor that work on a device makes: when it is done, the elements are there.
  Event ready = {};
  /// Instead of the tensor for consumers that read host memory, if it is not there.
  Tensor host_copy = {};
  Event copied = {};
  /// The collective that a conductor has begun.
  std::shared_ptr<CollectiveStart> start = {};
};

/// Several ports of an actor that fire together, such as those of one segment of an executor.
struct PortRange {
  std::uint32_t first_input = 0, inputs = 0, first_output = 0, outputs = 0;

  /// The number, among the actor's ports, of input or output i of these.
  std::uint32_t input(std::uint32_t i) const { return first_input + i; }
  std::uint32_t output(std::uint32_t i) const { return first_output + i; }
};

/// The credit protocol: one actor's ends of its edges. Everything that takes part in a plan, segments, users' actors
/// and stand-ins for other processes alike, exchanges tensors by this class and no other way.
///
/// An input holds what has arrived, oldest first; who has taken a tensor returns it by give_back. An output has slots;
/// a slot that was sent is free again when all consumers have returned it. Messages of another generation are ignored;
/// those of a run that has not been prepared here wait.
///
/// On the host, which is where ports are unless on_device() is called, a tensor arrives and a slot is free when the
/// work on devices that it depends on is complete; no thread waits for that. For a device they arrive at once with
/// their events.
///
/// Belongs to its actor and is used in its handlers only. Edges from the actor to itself need no message.
class Ports {
 public:
  Ports(caf::event_based_actor& self, PortsListener& listener) : self_(self), listener_(listener) {}

  void wire(std::uint64_t generation, std::vector<InputWire> inputs, std::vector<OutputWire> outputs);
  /// The actor's work is launched on devices, whose streams wait for events.
  void on_device() { on_host_ = false; }
  /// A run begins: what came early for it counts now, and ended inputs are open again.
  void prepare(std::uint64_t run);
  /// Drops all handles to other actors and to tensors.
  void clear();

  void accept(TensorReady& ready);
  void accept(const CreditReturned& returned);
  void accept(const DataEnded& ended);
  /// Work on a device is complete: what was held back for it is accepted.
  void accept(const WorkCompleted& completed);

  std::uint64_t generation() const { return generation_; }
  std::uint32_t inputs() const { return static_cast<std::uint32_t>(inputs_.size()); }
  std::uint32_t outputs() const { return static_cast<std::uint32_t>(outputs_.size()); }
  PortRange all() const { return {0, inputs(), 0, outputs()}; }

  /// Whether a tensor of this run, or a token, is there.
  bool has(std::uint32_t input) const {
    const auto& queue = inputs_[input].queue;
    return !queue.empty() && queue.front().run <= run_;
  }
  /// Tensors at the input, early ones included.
  std::uint32_t waiting(std::uint32_t input) const { return inputs_[input].queue.size(); }
  Arrival take(std::uint32_t input) { return inputs_[input].queue.pop(); }
  /// Returns a slot to its producer and drops the tensor. It may be overwritten when `last_use` is done.
  void give_back(std::uint32_t input, Arrival& arrival, const Event& last_use = {}) {
    give_back(input, arrival, last_use, false);
  }
  /// Returns a slot whose tensor was not used, because what is needed besides was lost.
  void refuse(std::uint32_t input, Arrival& arrival) { give_back(input, arrival, {}, true); }
  /// No more tensors come in this run, and those that came are used; as many as there are tokens are left to the next
  /// run.
  bool drained(std::uint32_t input) const {
    const auto& [wire, queue, ended_run, lost] = inputs_[input];
    return ended_run == run_ && !is_late(input) &&
           (wire.initial_tokens == 0 ? !has(input) : queue.size() <= wire.initial_tokens);
  }
  /// The producer was lost in this run, and what it had sent before is used.
  bool lost(std::uint32_t input) const { return inputs_[input].lost && drained(input); }
  /// Returns everything at an input, for whoever uses nothing more in this run.
  void drain(std::uint32_t input);

  bool has_free(std::uint32_t output) const { return outputs_[output].slots.has_free(); }
  std::uint32_t free_slots(std::uint32_t output) const { return outputs_[output].slots.free_count(); }
  /// Whether a consumer has refused what a free slot carried last.
  bool was_refused(std::uint32_t output, std::uint32_t slot) const { return outputs_[output].slots.was_refused(slot); }
  /// Takes a free slot, which is sent later.
  std::uint32_t take_slot(std::uint32_t output) { return outputs_[output].slots.take(); }
  /// For a device: the events after which a free slot may be overwritten, each given once.
  std::vector<Event> take_last_uses(std::uint32_t output, std::uint32_t slot);
  /// Throws Error in the name of the sender if the tensor is not what the plan says; of a batch it may have any rows.
  void expect_planned(std::uint32_t output, const Tensor& tensor, const std::string& sender) const;
  /// Sends a slot that was taken: a tensor, or the failure that stands for it.
  void send(std::uint32_t output, std::uint32_t slot, std::int64_t step, const SentTensor& sent,
            const FailurePtr& failure);
  /// For stand-ins: sends what arrived from the real producer, in the slot and with the stamp that it chose.
  void send_over(std::uint32_t output, std::uint32_t slot, const Stamp& stamp, const Tensor& tensor,
                 const FailurePtr& failure);
  /// Sends the tokens with which a run begins: the last ones that were sent before, in their slots. Before the first
  /// run they are those of the steps before `first_step`. `tensor_of` gives the tensor of a slot.
  void send_tokens(std::uint32_t output, std::int64_t first_step,
                   const std::function<SentTensor(std::uint32_t slot)>& tensor_of);
  /// Tells the consumers that nothing more comes in this run.
  void end(std::uint32_t output) { end_over(output, stamp(0)); }
  /// For stand-ins: the real producer has ended, or was lost.
  void end_over(std::uint32_t output, const Stamp& stamp, bool lost = false);
  /// Every slot is free.
  bool at_rest(std::uint32_t output) const {
    const auto& slots = outputs_[output].slots;
    return slots.free_count() == slots.capacity();
  }

  // ---- Several ports

  /// Inputs without a tensor and outputs without a free slot.
  std::uint32_t blockers(const PortRange& ports) const;
  /// True if an input is drained.
  bool drained(const PortRange& ports) const;
  /// Ends the run: tells the consumers, and returns all tensors at the inputs.
  void end(const PortRange& ports);
  /// True if every slot is free.
  bool at_rest(const PortRange& ports) const;
  /// The first tensor or free slot that is awaited; empty if none is.
  std::string awaited(const PortRange& ports) const;
  /// The first slot that is awaited so that all are free; empty if all are.
  std::string awaited_rest(const PortRange& ports) const;

  // ---- The edges

  const InputWire& input_wire(std::uint32_t input) const { return inputs_[input].wire; }
  const OutputWire& output_wire(std::uint32_t output) const { return outputs_[output].wire; }
  /// `waits for 'b' to return 'a'`, for people.
  std::string awaited_credit(std::uint32_t output) const;
  /// `waits for 'a' to send 'a'`.
  std::string awaited_tensor(std::uint32_t input) const;

 private:
  struct Input {
    InputWire wire;
    InputQueue queue;
    std::uint64_t ended_run = 0;
    bool lost = false;
  };
  /// A slot that carries a token, and what it was sent for.
  struct Token {
    std::uint32_t slot;
    std::int64_t step;
  };
  struct Output {
    OutputWire wire;
    OutputSlots slots;
    std::vector<std::pair<std::uint32_t, Event>> last_uses;  // by slot, for a device
    std::vector<Token> tokens;  // the last ones sent, oldest first, for edges with initial tokens
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
