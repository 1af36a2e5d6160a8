#include <algorithm>
#include <caf/message_handler.hpp>
#include <map>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/actors/caf/scheduler.hpp"
#include "troupe/actors/ports/participant.hpp"
#include "troupe/actors/spawn/wiring.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

/// FrameHeader::step of a FrameType::credit_returned frame if a consumer has refused the tensor. Without a refusal it
/// is 0.
constexpr std::int64_t kRefused = 1;
/// Size in bytes of a large payload. After reading a large payload the actor pauses: reading takes long, and other
/// actors must not wait for several payloads.
constexpr std::size_t kLarge = std::size_t{256} << 10;

class LinkActor final : public Participant {
 public:
  LinkActor(caf::actor_config& config, Wiring::Node node, std::shared_ptr<Link> link)
      : Participant(config), node_(std::move(node)), link_(std::move(link)) {
    for (std::uint32_t i = 0; i < node_.inputs.size(); ++i) input_of_[node_.inputs[i]] = i;
    for (std::uint32_t i = 0; i < node_.outputs.size(); ++i) output_of_[node_.outputs[i]] = i;
  }

  const char* name() const override { return "troupe.link"; }

  /// Handles messages like Participant, but returns early after a large tensor has been read, so that the consumers of
  /// the tensor run before the next frame is read.
  resume_result resume(ExecutionUnit* unit, std::size_t messages) override {
    for (std::size_t i = 0; i < messages; ++i) {
      const auto result = Participant::resume(unit, 1);
      // With any other result this actor may already run on another thread, so `pauses_` must not be read.
      if (result != resume_later) return result;
      if (pauses_) break;
    }
    return resume_later;
  }

 private:
  void on_wired() override { listen(); }

  void listen() {
    link_->on_ready([address = address()] {
      if (const auto self = caf::actor_cast<caf::actor>(address)) post(self, Continue{});
    });
  }

  std::int64_t on_prepare(const PrepareRun& order) override {
    run_ = order.run;
    if (std::ranges::find(order.absent, node_.peer) != order.absent.end())
      do_without_peer();
    else if (next_link_)
      take_peer_back();
    // Initial tokens may have arrived before this order. They are sent to the other part now.
    for (std::uint32_t input = 0; input < ports_.inputs(); ++input) on_arrival(input);
    // The other part may have been lost after the run control gave the order. The outputs end in this run, too.
    if (peer_is_lost_) end_all_edges();
    // This actor, the proxy for the other part, reports at once that it has finished the run. The run goes on
    // nevertheless while a slot of an edge is in use: the producer of the slot finishes only when it has all its slots
    // back.
    report_finished();
    return kLastStep;
  }

  void on_stop() override {
    guard_->withdraw();
    if (link_) link_->on_ready({});
    if (link_) link_->close();
    link_.reset();
    next_link_.reset();
  }

  caf::message_handler own_handlers() override {
    return {[this](const Continue&) { work(); }, [this](caf::tick_atom) { read_on(); },
            [this](const LinkReplaced& replaced) { next_link_ = replaced.link; }};
  }

  bool is_watched() const override { return false; }

  void describe(StallReport& report) override {
    std::string text = "'" + name_in_plan() + "' ";
    for (std::uint32_t output = 0; output < ports_.outputs(); ++output)
      if (!ports_.at_rest(output)) return report.add(name_in_plan(), {text + ports_.awaited_credit(output)});
    report.add(name_in_plan(), {text + "has nothing to pass on"});
  }

  // ---- From the actors of this part to the other part

  void on_arrival(std::uint32_t input) override {
    if (peer_is_lost_) return ports_.refuse_all(input);
    while (ports_.has(input)) {
      auto arrival = ports_.take(input);
      Frame frame{header(FrameType::tensor_ready, node_.inputs[input], arrival.slot, arrival.step)};
      frame.priority = priority_of(node_.inputs[input], arrival.step);
      last_priority_[input] = frame.priority;
      if (arrival.failure) {
        frame.header.type = FrameType::failure_ready;
        frame.payload = failure_payload(*arrival.failure);
      } else {
        frame.payload = arrival.tensor;
        frame.guard = guard_;
      }
      // The arrival in sent_ holds the slot until the other part returns it, so the producer does not write to the
      // tensor.
      sent_[{input, arrival.slot}] = std::move(arrival);
      send_frame(frame);
    }
  }

  void on_free(std::uint32_t output, std::uint32_t slot) override {
    auto returned = header(FrameType::credit_returned, node_.outputs[output], slot, 0);
    returned.step = ports_.was_refused(output, slot) ? kRefused : 0;
    send_frame({returned});
  }

  void on_ended(std::uint32_t input) override {
    Frame frame{header(FrameType::data_ended, node_.inputs[input], 0, 0)};
    frame.priority = last_priority_[input];
    send_frame(frame);
  }

  FrameHeader header(FrameType type, EdgeId edge, std::uint32_t slot, std::int64_t step) const {
    return {type, edge, static_cast<std::int32_t>(slot), 0, ports_.generation(), static_cast<std::int64_t>(run_), step};
  }

  /// Returns the priority of a frame; frames with lower numbers are sent first. Tensors are sent in the order in which
  /// they are used: earlier steps first, and within a step the edges in the order of the plan, which lists producers
  /// before consumers.
  static std::int64_t priority_of(EdgeId edge, std::int64_t step) { return (step << 20) + edge; }

  void send_frame(const Frame& frame) {
    if (link_ && !link_->send(frame)) link_failed();
  }

  // ---- From the other part to the actors of this part

  void work() override {
    if (pauses_) return;
    while (link_) {
      auto frame = link_->receive();
      if (!frame) break;
      try {
        if (frame->header.generation == ports_.generation()) handle(*frame);
      } catch (const PayloadWithdrawn&) {
        // The other part withdraws its payloads when it closes the link, or when it goes on without this part. The
        // frame is dropped.
      }
      if (frame->payload->bytes() >= kLarge) {
        pauses_ = true;
        return go_on_later();
      }
    }
    if (link_ && link_->failure()) link_failed();
  }

  void go_on_later() { post(caf::actor_cast<caf::actor>(this), caf::tick_atom_v); }

  /// Continues to read frames after the pause that follows a large tensor. If mail arrived during the pause, such as
  /// tensors from the consumers of the large tensor, first lets that mail be handled, but only once in a pause.
  void read_on() {
    if (!mailbox().empty() && !std::exchange(lets_pass_, true)) return go_on_later();
    pauses_ = lets_pass_ = false;
    work();
  }

  void handle(const IncomingFrame& frame) {
    const auto& header = frame.header;
    const auto slot = static_cast<std::uint32_t>(header.slot);
    switch (header.type) {
      case FrameType::tensor_ready:
      case FrameType::failure_ready: {
        const auto output = output_at(header.edge);
        const auto tensor = frame.payload->tensor();
        if (header.type == FrameType::failure_ready) {
          ports_.send_over(output, slot, stamp_of(header), {}, failure_of(tensor));
        } else {
          ports_.expect_planned(output, tensor, "process " + std::to_string(node_.peer));
          ports_.send_over(output, slot, stamp_of(header), tensor, nullptr);
        }
        break;
      }
      case FrameType::credit_returned: {
        const auto sent = sent_.find({input_at(header.edge), slot});
        if (sent == sent_.end()) throw Error("link", "slot " + std::to_string(slot) + " was returned but never sent");
        auto arrival = std::move(sent->second);
        sent_.erase(sent);
        if (header.step == kRefused)
          ports_.refuse(input_at(header.edge), arrival);
        else
          ports_.give_back(input_at(header.edge), arrival);
        break;
      }
      case FrameType::data_ended:
        ended_[output_at(header.edge)] = stamp_of(header).run;
        ports_.end_over(output_at(header.edge), stamp_of(header));
        break;
      default:
        throw Error("link", "a frame came that belongs to no edge");
    }
  }

  std::uint32_t input_at(EdgeId edge) const { return number_of(input_of_, edge); }
  std::uint32_t output_at(EdgeId edge) const { return number_of(output_of_, edge); }

  static std::uint32_t number_of(const std::map<EdgeId, std::uint32_t>& numbers, EdgeId edge) {
    const auto entry = numbers.find(edge);
    if (entry == numbers.end()) throw Error("link", "edge " + std::to_string(edge) + " does not cross this link");
    return entry->second;
  }

  static Stamp stamp_of(const FrameHeader& header) {
    return {header.generation, static_cast<std::uint64_t>(header.run), header.step};
  }

  void link_failed() {
    const auto cause = link_->failure();
    link_.reset();
    if (node_.expendable) return do_without_peer();
    // The other part was stopped and has closed the link in order, which is no failure of the link. The run may have
    // ended there a moment before it ends here. If it has not ended, the run control learns over a link of its own that
    // the part has left.
    if (!cause || cause->kind == FailureKind::aborted) return;
    if (cause->rank >= 0 && cause->kind == FailureKind::part_died) return lose_peer(cause);
    const auto process = "process " + std::to_string(node_.peer);
    lose_peer(failure_of_process(node_.peer, "[link] " + process + " died or was cut off: " + cause->what, cause));
  }

  /// Goes on without the other part: drops the link, withdraws the payloads that were sent over it, refuses all tensors
  /// that the other part holds or that wait to be sent, and ends the edges that lead to the other part or come from it.
  void do_without_peer() {
    peer_is_lost_ = true;
    link_.reset();
    guard_->withdraw();
    end_all_edges();
    for (auto& [at, arrival] : std::exchange(sent_, {})) ports_.refuse(at.first, arrival);
    for (std::uint32_t input = 0; input < ports_.inputs(); ++input) ports_.refuse_all(input);
  }

  void take_peer_back() {
    peer_is_lost_ = false;
    link_ = std::move(next_link_);
    guard_ = std::make_shared<PayloadGuard>();
    listen();
  }

  void end_all_edges() {
    if (run_ == 0) return;
    for (std::uint32_t input = 0; input < ports_.inputs(); ++input) ports_.lose_consumer(input);
    for (std::uint32_t output = 0; output < ports_.outputs(); ++output)
      if (std::exchange(ended_[output], run_) != run_) ports_.end_over(output, {ports_.generation(), run_, 0}, true);
  }

  Wiring::Node node_;
  std::shared_ptr<Link> link_, next_link_;
  /// Lets the other part read sent payloads in this process's memory until withdraw() is called.
  std::shared_ptr<PayloadGuard> guard_ = std::make_shared<PayloadGuard>();
  std::map<std::uint32_t, std::int64_t> last_priority_;  // by input: priority of the tensor sent last
  std::map<std::uint32_t, std::uint64_t> ended_;         // by output: the last run in which the output ended
  bool peer_is_lost_ = false;
  bool pauses_ = false, lets_pass_ = false;
  std::map<EdgeId, std::uint32_t> input_of_, output_of_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Arrival> sent_;  // by input and slot: sent, not yet returned
  std::uint64_t run_ = 0;
};

}  // namespace

caf::actor spawn_link_actor(caf::actor_system& system, const Wiring::Node& node, std::shared_ptr<Link> link) {
  return caf::actor_cast<caf::actor>(system.spawn<LinkActor>(node, std::move(link)));
}

}  // namespace troupe
