#include "troupe/bench/network_model.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <string>

#include "troupe/bench/event_queue.hpp"
#include "troupe/bench/fair_queue.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/transport/hierarchy/stage_queue.hpp"
#include "troupe/transport/zeromq/packet.hpp"

namespace troupe::bench {

namespace {

constexpr auto kHeaderBytes = static_cast<std::int64_t>(kFrameHeaderBytes + zeromq::kPacketHeaderBytes);

// The bytes of one connection that a port sends before it serves the next, which is what an operating system hands to
// it at once.
constexpr std::int64_t kPieceBytes = 65'536;

double seconds_of(std::int64_t bytes, double rate) {
  return rate > 0 ? static_cast<double>(bytes) / rate : 0;
}

/// A message or a piece of it, or the notice to its sender that a payload was read.
struct Packet {
  Message message;
  bool payload_read = false;
  std::int64_t piece_bytes = 0;
  bool last_piece = true;
};

/// The state of a simulated rank.
struct Rank {
  std::unique_ptr<RankProgram> program;
  std::vector<Packet> inbox;
  std::array<int, hierarchy::kStages> unread{};  // payloads that others read in place, by stage
  bool begun = false, done = false;
  bool busy = false;  // computes, or waits for a processor
};

/// A machine with its network port and its processors.
struct Machine {
  FairQueue leaving;
  bool port_sends = false;
  double port_in_free = 0;
  int cores_free = 0;
  std::deque<int> waiting;  // ranks that have actions to do but no processor
};

/// The simulation of one collective. It performs the actions of all ranks.
class Simulation final : public RankActions {
 public:
  Simulation(const Collective& collective, const ClusterCosts& costs)
      : costs_(costs),
        machines_(static_cast<std::size_t>((collective.ranks - 1) / costs.ranks_per_machine + 1)),
        ranks_(static_cast<std::size_t>(collective.ranks)),
        events_(kRankLanes * ranks_.size() + kMachineLanes * machines_.size()) {
    for (auto& machine : machines_)
      machine.cores_free = costs.shared_cores > 0 ? costs.shared_cores : costs.ranks_per_machine;
    for (int rank = 0; rank < collective.ranks; ++rank)
      ranks_[static_cast<std::size_t>(rank)].program = make_rank_program(collective, rank);
  }

  Prediction run() {
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) wake(rank, 0);
    while (!events_.empty()) {
      const auto next = events_.take();
      handle(next.lane, next.time, next.event);
    }
    if (!std::ranges::all_of(ranks_, &Rank::done))
      throw Error("network_model", "the schedule never ends, because ranks wait for each other");
    return prediction_;
  }

  void send(const Message& message) override {
    ++prediction_.messages;
    if (is_in_place(message) && message.awaited) ++ranks_[static_cast<std::size_t>(message.from)].unread[message.stage];
    dispatch({message});
  }
  void read(const Message& message) override {
    if (is_in_place(message)) now_ += seconds_of(message.bytes, shared(costs_.inside_bandwidth));
  }
  void copy(const Message& message) override { is_in_place(message) ? read(message) : add(message.bytes); }
  void add(std::int64_t bytes) override { now_ += seconds_of(bytes, shared(costs_.sum_rate)); }
  void release(const Message& message) override {
    if (is_in_place(message)) dispatch({message, true});
  }
  bool all_read(std::uint8_t stage) const override {
    return ranks_[static_cast<std::size_t>(current_)].unread[stage] == 0;
  }

 private:
  // The lanes of a rank: messages that leave its processor for the port, messages to ranks on its machine, and the end
  // of its actions. The lanes of a machine: pieces that its port has sent, pieces in flight to other machines, and
  // pieces that its port has received.
  enum RankLane : std::size_t { leaving, inside, processor, kRankLanes };
  enum MachineLane : std::size_t { sent, in_flight, received, kMachineLanes };

  std::size_t lane(RankLane kind, int rank) const { return kRankLanes * static_cast<std::size_t>(rank) + kind; }
  std::size_t lane(MachineLane kind, std::size_t machine) const {
    return kRankLanes * ranks_.size() + kMachineLanes * machine + kind;
  }
  std::size_t machine_of(int rank) const { return static_cast<std::size_t>(rank / costs_.ranks_per_machine); }

  bool is_inside(const Message& message) const { return machine_of(message.from) == machine_of(message.to); }
  bool is_in_place(const Message& message) const {
    return is_inside(message) && message.bytes >= static_cast<std::int64_t>(zeromq::kReadInPlaceBytes);
  }

  /// The rate of this processor while others use the same memory.
  double shared(double rate) const {
    if (costs_.memory_bandwidth <= 0) return rate;
    const auto share = costs_.memory_bandwidth / std::max(1, active_);
    return rate > 0 ? std::min(rate, share) : share;
  }

  /// Sends a message of the current rank, or the notice that it has read a payload.
  void dispatch(const Packet& packet) {
    now_ += costs_.message_cost;
    const auto& message = packet.message;
    if (!is_inside(message)) return events_.add(lane(leaving, current_), now_, packet);
    const auto bytes = is_in_place(message) ? 0 : message.bytes;
    events_.add(lane(inside, current_), now_ + costs_.inside_latency + seconds_of(bytes, costs_.inside_bandwidth),
                packet);
  }

  void handle(std::size_t which, double time, const Packet& packet) {
    const auto first_machine_lane = kRankLanes * ranks_.size();
    if (which >= first_machine_lane) return handle_of_machine(which - first_machine_lane, time, packet);
    switch (static_cast<RankLane>(which % kRankLanes)) {
      case leaving:
        return leave_by_port(packet.message, time);
      case processor:
        return finish(static_cast<int>(which / kRankLanes), time);
      default:
        return deliver(packet, time);
    }
  }

  void handle_of_machine(std::size_t which, double time, const Packet& packet) {
    switch (static_cast<MachineLane>(which % kMachineLanes)) {
      case sent:
        return send_piece(which / kMachineLanes, time);
      case in_flight:
        return enter_port(packet, time);
      default:
        return deliver(packet, time);
    }
  }

  void leave_by_port(const Message& message, double time) {
    const auto from = machine_of(message.from);
    machines_[from].leaving.add(message, message.bytes + kHeaderBytes);
    if (!machines_[from].port_sends) send_piece(from, time);
  }

  /// Sends the next piece once the port of a machine is free.
  void send_piece(std::size_t from, double time) {
    auto& machine = machines_[from];
    machine.port_sends = !machine.leaving.empty();
    if (!machine.port_sends) return;
    const auto piece = machine.leaving.take(kPieceBytes);
    events_.add(lane(in_flight, from), time + costs_.latency, {piece.message, false, piece.bytes, piece.last});
    events_.add(lane(sent, from), time + seconds_of(piece.bytes, costs_.bandwidth), {});
  }

  void enter_port(const Packet& piece, double time) {
    const auto to = machine_of(piece.message.to);
    auto& free = machines_[to].port_in_free;
    free = std::max(free, time) + seconds_of(piece.piece_bytes, costs_.bandwidth);
    if (piece.last_piece) events_.add(lane(received, to), free, {piece.message});
  }

  void deliver(const Packet& packet, double time) {
    const auto to = packet.payload_read ? packet.message.from : packet.message.to;
    auto& rank = ranks_[static_cast<std::size_t>(to)];
    rank.inbox.push_back(packet);
    if (!rank.busy) wake(to, time);
  }

  void wake(int rank, double time) {
    auto& machine = machines_[machine_of(rank)];
    ranks_[static_cast<std::size_t>(rank)].busy = true;
    machine.waiting.push_back(rank);
    occupy(machine, time);
  }

  /// Gives free processors to waiting ranks.
  void occupy(Machine& machine, double time) {
    while (machine.cores_free > 0 && !machine.waiting.empty()) {
      const auto rank = machine.waiting.front();
      machine.waiting.pop_front();
      --machine.cores_free;
      const auto cores = costs_.shared_cores > 0 ? costs_.shared_cores : costs_.ranks_per_machine;
      active_ = cores - machine.cores_free;
      work(rank, time);
    }
  }

  void work(int number, double time) {
    auto& rank = ranks_[static_cast<std::size_t>(number)];
    current_ = number;
    now_ = time;
    for (const auto& packet : std::exchange(rank.inbox, {})) take(rank, packet);
    if (!std::exchange(rank.begun, true)) rank.program->begin(*this);
    if (!rank.done && rank.program->advance(*this)) {
      rank.done = true;
      prediction_.seconds = std::max(prediction_.seconds, now_);
    }
    events_.add(lane(processor, number), now_, {});
  }

  void take(Rank& rank, const Packet& packet) {
    now_ += costs_.message_cost;
    if (packet.payload_read)
      rank.unread[packet.message.stage] -= packet.message.awaited ? 1 : 0;
    else
      rank.program->take(packet.message);
  }

  void finish(int number, double time) {
    auto& rank = ranks_[static_cast<std::size_t>(number)];
    auto& machine = machines_[machine_of(number)];
    ++machine.cores_free;
    rank.busy = !rank.inbox.empty();
    if (rank.busy) machine.waiting.push_back(number);
    occupy(machine, time);
  }

  const ClusterCosts costs_;
  std::vector<Machine> machines_;
  std::vector<Rank> ranks_;
  EventQueue<Packet> events_;
  Prediction prediction_;
  // The rank that computes: its number, its clock, and the number of computing processors of its machine.
  int current_ = 0;
  double now_ = 0;
  int active_ = 0;
};

}  // namespace

Prediction predict(const Collective& collective, const ClusterCosts& costs) {
  const auto& c = costs;
  if (std::min({c.latency, c.bandwidth, c.inside_latency, c.inside_bandwidth, c.message_cost, c.sum_rate,
                c.memory_bandwidth}) < 0 ||
      c.ranks_per_machine < 1 || c.shared_cores < 0)
    throw Error("network_model",
                "times, rates and shared cores must not be negative, and a machine has at least one rank");
  if (collective.ranks < 1)
    throw Error("network_model", "there must be at least one rank, not " + std::to_string(collective.ranks));
  return Simulation(collective, costs).run();
}

}  // namespace troupe::bench
