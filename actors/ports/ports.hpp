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

/// The interface by which Ports reports to an actor what a message has changed at the actor's ports.
class PortsListener {
 public:
  virtual ~PortsListener() = default;
  /// An input holds one more tensor, or a failure in place of a tensor. Not called for a tensor of a run that is not
  /// prepared yet.
  virtual void on_arrival(std::uint32_t input) = 0;
  /// Every consumer has returned a slot of an output: the slot is free.
  virtual void on_free(std::uint32_t output, std::uint32_t slot) = 0;
  /// The producer of an input sends no further tensor in this run, and all tensors that it has sent have arrived. May
  /// be called several times in a run.
  virtual void on_ended(std::uint32_t input) = 0;
  /// Work on a device that should have computed a tensor for this actor has failed. The returned failure takes the
  /// place of the tensor.
  virtual FailurePtr on_work_failed(Failure failure) = 0;
};

/// A tensor that a producer sends, with the events and objects that travel with it in a TensorReady message.
struct SentTensor {
  Tensor tensor;
  /// The end of the work on a device that computes the tensor: the tensor holds its elements once this event is done.
  Event ready = {};
  /// A copy of the tensor in host memory, for the consumers that read host memory. Null if the tensor itself lies in
  /// host memory, or if no consumer reads host memory.
  Tensor host_copy = {};
  /// The host copy holds its elements once this event is done.
  Event copied = {};
  /// The collective that the sender has begun, if the sender is a conductor: an actor that begins collectives for the
  /// ranks of its process. Null for other senders, and if the collective could not begin.
  std::shared_ptr<CollectiveStart> start = {};
};

/// The inputs and outputs of an actor that take part in the same firings: all ports of a PortActor, or the ports of one
/// segment of a SegmentActor.
struct PortRange {
  std::uint32_t first_input = 0, inputs = 0, first_output = 0, outputs = 0;

  /// The number, among all inputs of the actor or all its outputs, of input or output i of the range.
  std::uint32_t input(std::uint32_t i) const { return first_input + i; }
  std::uint32_t output(std::uint32_t i) const { return first_output + i; }
};

/// The ends of one actor's edges, and the credit protocol: a producer sends a tensor only in a free slot of the edge,
/// and the consumers return the slot after use. All participants of a plan (segments, users' actors and proxies of
/// other processes) exchange tensors through this class alone.
///
/// An input holds the tensors that have arrived, oldest first. A tensor that was taken is returned by give_back(). An
/// output has slots; a slot that was sent is free again when all consumers have returned it. Messages of another
/// generation, which is another spawning of the plan, are ignored. Tensors of a run that is not yet prepared wait at
/// their input.
///
/// Ports are on the host unless on_device() is called. On the host a tensor arrives, or a slot becomes free, once the
/// work on devices that computes the tensor or reads the slot is complete; no thread waits for this work. On a device
/// tensors arrive and slots become free at once, with the events for which the actor's stream must wait.
///
/// Ports are used in the handlers of their actor only. On an edge from the actor to itself, tensors and slots pass
/// without a message.
class Ports {
 public:
  Ports(caf::event_based_actor& self, PortsListener& listener) : self_(self), listener_(listener) {}

  void wire(std::uint64_t generation, std::vector<InputWire> inputs, std::vector<OutputWire> outputs);
  /// Declares that the actor launches its work on the stream of a device, which can wait for events.
  void on_device() { on_host_ = false; }
  /// Begins run number `run`: tensors of this run that have arrived before become available, and inputs that ended in
  /// an earlier run are open again.
  void prepare(std::uint64_t run);
  /// Drops all handles to other actors and to tensors.
  void clear();

  void accept(TensorReady& ready);
  void accept(const CreditReturned& returned);
  void accept(const DataEnded& ended);
  void accept(const ConsumerLost& lost);
  /// Accepts the messages that were held back until work on a device is complete, if that work is complete now.
  void accept(const WorkCompleted& completed);

  std::uint64_t generation() const { return generation_; }
  std::uint32_t inputs() const { return static_cast<std::uint32_t>(inputs_.size()); }
  std::uint32_t outputs() const { return static_cast<std::uint32_t>(outputs_.size()); }
  PortRange all() const { return {0, inputs(), 0, outputs()}; }

  /// Whether the oldest tensor that the input holds belongs to this run or to an earlier one; false if the input is
  /// empty.
  bool has(std::uint32_t input) const {
    const auto& queue = inputs_[input].queue;
    return !queue.empty() && queue.front().run <= run_;
  }
  /// The number of tensors that the input holds, including those of a run that is not prepared yet.
  std::uint32_t waiting(std::uint32_t input) const { return inputs_[input].queue.size(); }
  Arrival take(std::uint32_t input) { return inputs_[input].queue.pop(); }
  /// Returns the slot of a taken tensor to the producer, and drops the handles in `arrival`. The slot may be
  /// overwritten once `last_use` is done.
  void give_back(std::uint32_t input, Arrival& arrival, const Event& last_use = {}) {
    give_back(input, arrival, last_use, false);
  }
  /// Returns the slot of a taken tensor that was not used because another input that the actor needs was lost.
  void refuse(std::uint32_t input, Arrival& arrival) { give_back(input, arrival, {}, true); }
  /// Whether no more tensors arrive at the input in this run and all that arrived are taken. On an edge with initial
  /// tokens, the last `initial_tokens` tensors need not be taken: no firing uses them, and the next run begins with
  /// them.
  bool drained(std::uint32_t input) const {
    const auto& [wire, queue, ended_run, lost] = inputs_[input];
    return ended_run == run_ && !is_late(input) &&
           (wire.initial_tokens == 0 ? !has(input) : queue.size() <= wire.initial_tokens);
  }
  /// Whether the process of the input's producer was lost in this run and all tensors that the producer had sent before
  /// the loss are taken.
  bool lost(std::uint32_t input) const { return inputs_[input].lost && drained(input); }
  /// Returns all tensors that an input holds, for an actor that uses no more of them in this run.
  void drain(std::uint32_t input);
  /// For LinkActor, the proxy of the actors of another process: tells the producer of an input that the other process
  /// takes no part in this run any more.
  void lose_consumer(std::uint32_t input);
  /// Returns all tensors that an input holds as refused.
  void refuse_all(std::uint32_t input);

  bool has_free(std::uint32_t output) const { return outputs_[output].slots.has_free(); }
  std::uint32_t slots(std::uint32_t output) const { return outputs_[output].slots.capacity(); }
  std::uint32_t free_slots(std::uint32_t output) const { return outputs_[output].slots.free_count(); }
  /// Whether a consumer has refused the tensor that a slot carried last, that is, has returned it unused. The slot must
  /// be free.
  bool was_refused(std::uint32_t output, std::uint32_t slot) const { return outputs_[output].slots.was_refused(slot); }
  /// Whether the processes of all consumers of the output were lost in this run, or take no part in it.
  bool lost_output(std::uint32_t output) const;
  /// Takes a free slot of an output for a later send(). Throws Error if no slot is free.
  std::uint32_t take_slot(std::uint32_t output) { return outputs_[output].slots.take(); }
  /// For an actor on a device: removes and returns the events after which a free slot may be overwritten.
  std::vector<Event> take_last_uses(std::uint32_t output, std::uint32_t slot);
  /// Throws Error, in the name of `sender`, if the tensor is null, or if the output has consumers and the tensor's
  /// shape or dtype differs from the plan. A batch may have any number of rows.
  void expect_planned(std::uint32_t output, const Tensor& tensor, const std::string& sender) const;
  /// Sends a tensor to all consumers, or `failure` in its place if `failure` is not null. `slot` is a result of
  /// take_slot().
  void send(std::uint32_t output, std::uint32_t slot, std::int64_t step, const SentTensor& sent,
            const FailurePtr& failure);
  /// For LinkActor, the proxy of the actors of another process: takes the slot and sends in it the tensor or the
  /// failure that has arrived from the producer in that process, with the producer's stamp. Throws Error if the slot is
  /// not free.
  void send_over(std::uint32_t output, std::uint32_t slot, const Stamp& stamp, const Tensor& tensor,
                 const FailurePtr& failure);
  /// Sends the initial tokens of an output, with which a run begins: the tensors that were sent last in earlier runs,
  /// in the same slots and with the same steps. In the first run n tokens lie in the slots 0 to n - 1 and have the n
  /// steps before `first_step`. `tensor_of` returns the tensor to send in a slot.
  void send_tokens(std::uint32_t output, std::int64_t first_step,
                   const std::function<SentTensor(std::uint32_t slot)>& tensor_of);
  /// Sends DataEnded to the consumers: this output sends nothing more in this run.
  void end(std::uint32_t output) { end_over(output, stamp(0)); }
  /// For LinkActor: sends DataEnded with the stamp of the producer in the other process. The producer has ended its run
  /// or, if `lost` is true, was lost with its process.
  void end_over(std::uint32_t output, const Stamp& stamp, bool lost = false);
  /// Whether every slot of the output is free.
  bool at_rest(std::uint32_t output) const {
    const auto& slots = outputs_[output].slots;
    return slots.free_count() == slots.capacity();
  }

  // ---- A range of ports

  /// The number of inputs without a tensor plus the number of outputs without a free slot.
  std::uint32_t blockers(const PortRange& ports) const;
  /// True if at least one input is drained.
  bool drained(const PortRange& ports) const;
  /// Ends the run for these ports: sends DataEnded for every output, and returns all tensors that the inputs hold.
  void end(const PortRange& ports);
  /// True if every slot of every output is free.
  bool at_rest(const PortRange& ports) const;
  /// The text of awaited_tensor() for the first input without a tensor, else that of awaited_credit() for the first
  /// output without a free slot. Empty if nothing is awaited.
  std::string awaited(const PortRange& ports) const;
  /// The text of awaited_credit() for the first output with a slot that is not free. Empty if all slots are free.
  std::string awaited_rest(const PortRange& ports) const;

  // ---- The edges

  const InputWire& input_wire(std::uint32_t input) const { return inputs_[input].wire; }
  const OutputWire& output_wire(std::uint32_t output) const { return outputs_[output].wire; }
  /// A text such as `waits for 'b' to return 'a'`, where 'b' is a consumer that holds a slot and 'a' the edge. If all
  /// slots are free: `waits for a free slot of 'a'`.
  std::string awaited_credit(std::uint32_t output) const;
  /// A text such as `waits for 'b' to send 'a'`, where 'b' is the producer and 'a' the edge. If a message is held back
  /// until a device has computed its tensor: `waits for the device to complete 'a' of 'b'`.
  std::string awaited_tensor(std::uint32_t input) const;

 private:
  struct Input {
    InputWire wire;
    InputQueue queue;
    std::uint64_t ended_run = 0;
    bool lost = false;
  };
  /// A slot whose tensor the next run sends again as a token, and the step for which the tensor was sent.
  struct Token {
    std::uint32_t slot;
    std::int64_t step;
  };
  struct Output {
    OutputWire wire;
    OutputSlots slots;
    std::vector<std::pair<std::uint32_t, Event>> last_uses;  // on a device: a slot, the end of a consumer's use
    std::vector<Token> tokens;             // for edges with initial tokens: the slots sent last, oldest first
    std::vector<std::uint64_t> lost_runs;  // by consumer: the last run in which it was lost, or 0; empty if none was
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
  // Messages that an actor on the host holds back. `late_arrivals_` has tensors whose events are not done, or that wait
  // for an earlier tensor of the same input; `late_credits_` has returned slots whose last use is not complete.
  std::list<TensorReady> late_arrivals_;
  std::list<CreditReturned> late_credits_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
};

}  // namespace troupe
