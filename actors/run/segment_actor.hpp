#pragma once

#include <caf/event_based_actor.hpp>
#include <deque>
#include <memory>
#include <vector>

#include "troupe/actors/run/credits.hpp"
#include "troupe/actors/run/messages.hpp"
#include "troupe/actors/run/run_status.hpp"
#include "troupe/actors/run/segment.hpp"
#include "troupe/actors/run/trace.hpp"

namespace troupe {

/// What a segment actor is spawned with.
struct HostSetup {
  std::shared_ptr<const Plan> plan;
  std::vector<std::int32_t> segments;
  /// The blocks of memory that edges of the plan share.
  std::vector<Tensor> blocks;
  std::shared_ptr<HostStatus> status;
  std::shared_ptr<Trace> trace;
  /// The core that the actor's own thread is bound to; -1: it runs on the threads of the actor system.
  int core = -1;
  /// How long its own thread looks for messages before it sleeps, which costs the next message a wake-up.
  std::chrono::microseconds linger{0};
};

/// The actor that runs segments: one of one op in the per-op grain, all those of a device in the fused one. It keeps
/// the credits of their inputs and outputs, fires a segment when every input holds a tensor and every output has a free
/// slot, and between two tasks looks at its mail if another segment of it could become more urgent.
class SegmentActor : public caf::event_based_actor {
 public:
  SegmentActor(caf::actor_config& config, HostSetup setup);

  caf::behavior make_behavior() override;
  const char* name() const override { return "troupe.segment"; }

 private:
  enum class State { idle, queued, running, pending };

  struct Port {
    InputWire wire;
    std::uint32_t segment;
    std::int32_t index;  // within the segment
    InputQueue queue{1};
    bool ended = false;
    bool token() const { return wire.initial_tokens > 0; }
  };

  struct Output {
    OutputWire wire;
    std::uint32_t segment;
    std::int32_t index;
    OutputSlots slots{1, 0};
    std::uint32_t current = 0;
    /// For an output in place of an input: what arrived there, by slot of this output.
    std::vector<Arrival> held_inputs;
    std::uint32_t home() const { return slots.capacity() - wire.initial_tokens; }
  };

  struct SegmentState {
    std::unique_ptr<Segment> work;
    std::uint32_t first_port, first_output;
    std::vector<Arrival> current;
    State state = State::idle;
    std::uint32_t blockers = 0;
    std::size_t task = 0;
    /// Stays until the next run: what is carried over from a failed step to the next is worth nothing.
    FailurePtr failure;
    std::int64_t fired = 0;
    bool is_source = false;
    bool ended = true;
    bool finished = true;
  };

  // Orders of the supervisor.
  void wire(Wire& wire);
  void begin(const Begin& order);
  void send_initial_tokens();
  void start();
  void pause(std::uint64_t run);
  void run_until(std::int64_t step);
  void describe(StallReport& report);
  void stop();

  // Credits.
  void arrive(std::uint32_t port, Arrival arrival);
  void end_port(std::uint32_t port);
  void credit(const CreditReturned& credit);
  void return_credit(Port& port, Arrival& arrival);
  void unblock(SegmentState& segment);
  void check_surrendered(const Output& output, std::uint32_t slot);

  // Firing.
  void work();
  bool may_fire(const SegmentState& segment) const;
  void make_ready(std::uint32_t segment);
  void fire(std::uint32_t segment);
  bool begin_firing(SegmentState& segment);
  bool take_rows(SegmentState& segment, std::int64_t& rows);
  void bind_firing(SegmentState& segment, std::int64_t rows);
  void run_tasks(std::uint32_t segment);
  bool run_task(SegmentState& segment, bool continued);
  void send_outputs(SegmentState& segment, std::size_t task);
  void send_output(SegmentState& segment, std::int32_t index);
  void finish_firing(std::uint32_t segment);
  void end_if_drained(SegmentState& segment);
  void end(SegmentState& segment);
  void report_if_finished(SegmentState& segment);
  void fail(SegmentState& segment, const std::string& task, const std::string& what);
  void linger();

  /// Sends a message, or hands it over at once if the receiver is this actor.
  template <class Message>
  void tell(const caf::actor& peer, Message message);

  std::int64_t step_of(const SegmentState& segment) const { return first_step_ + segment.fired; }
  Port& port_of(const SegmentState& segment, std::size_t i) { return ports_[segment.first_port + i]; }
  Output& output_of(const SegmentState& segment, std::size_t i) { return outputs_[segment.first_output + i]; }
  std::string waits_for(SegmentState& segment);
  std::string held_by_consumer(const Output& output) const;

  HostSetup setup_;
  caf::actor supervisor_;
  std::vector<SegmentState> segments_;
  std::vector<Port> ports_;
  std::vector<Output> outputs_;
  std::deque<std::uint32_t> ready_;
  std::int64_t first_step_ = 0;
  std::int64_t until_ = 0;
  bool sources_open_ = false;
  bool tokens_sent_ = false;
  bool continuing_ = false;
  bool working_ = false;
};

template <class Message>
void SegmentActor::tell(const caf::actor& peer, Message message) {
  if (caf::actor_cast<caf::abstract_actor*>(peer) != this) {
    send(peer, std::move(message));
    return;
  }
  if constexpr (std::is_same_v<Message, TensorReady>)
    arrive(message.port, {message.slot, std::move(message.tensor), std::move(message.failure)});
  else if constexpr (std::is_same_v<Message, CreditReturned>)
    credit(message);
  else if constexpr (std::is_same_v<Message, EndOfData>)
    end_port(message.port);
}

}  // namespace troupe
