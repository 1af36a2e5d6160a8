#include "troupe/bench/collective_schedule.hpp"

#include <deque>
#include <map>
#include <mutex>
#include <tuple>

#include "troupe/bench/network_model.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/transport/groups.hpp"
#include "troupe/tests/transport/observed_link.hpp"
#include "troupe/transport/hierarchy/hierarchical_communicator.hpp"

using namespace troupe;
using namespace troupe::testing;
using bench::Collective;
using bench::Message;

namespace {

/// What was sent from one rank to another, in its order: of each message the kind, the stage, the phase and the bytes.
using Sent = std::map<std::pair<int, int>, std::vector<std::tuple<bool, int, int, std::int64_t>>>;

/// Of one stage, the ranks of whose links are numbered from 0.
struct Recorder {
  std::mutex mutex;
  Sent sent;

  void add(std::pair<int, int> ranks, int stage, const Frame& frame) {
    const bool ready = frame.header.type == FrameType::collective_ready;
    const auto bytes = ready ? 0 : static_cast<std::int64_t>(frame.payload.bytes());
    std::lock_guard lock(mutex);
    sent[ranks].emplace_back(ready, stage, frame.header.slot, bytes);
  }
};

/// A group of those ranks of all, on links that record.
Group recorded_group(Recorder& recorder, const std::vector<int>& members, int stage,
                     const JoinRanks& join = make_linked_communicator) {
  const auto ranks = members.size();
  std::vector<std::vector<std::shared_ptr<Link>>> links(ranks, std::vector<std::shared_ptr<Link>>(ranks));
  for (std::size_t a = 0; a < ranks; ++a)
    for (std::size_t b = a + 1; b < ranks; ++b) {
      auto [at_a, at_b] = make_memory_link();
      const auto record = [&recorder, stage](int from, int to) {
        return
            [&recorder, stage, ranks = std::pair{from, to}](const Frame& frame) { recorder.add(ranks, stage, frame); };
      };
      links[a][b] = std::make_shared<ObservedLink>(at_a, record(members[a], members[b]));
      links[b][a] = std::make_shared<ObservedLink>(at_b, record(members[b], members[a]));
    }
  Group group;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    group.push_back(join(static_cast<int>(rank), std::move(links[rank])));
  return group;
}

std::vector<int> range(int first, int count, int stride = 1) {
  std::vector<int> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(first + i * stride);
  return numbers;
}

Group recorded_hierarchy(Recorder& recorder, int ranks, int per_machine) {
  const int machines = (ranks + per_machine - 1) / per_machine;
  const auto all = make_linked_group(ranks);
  const auto across = recorded_group(recorder, range(0, machines, per_machine), 1);
  Group group;
  for (int machine = 0; machine < machines; ++machine) {
    const auto members = range(machine * per_machine, std::min(per_machine, ranks - machine * per_machine));
    const auto inside = recorded_group(recorder, members, 0), spread = recorded_group(recorder, members, 2);
    for (std::size_t inner = 0; inner < members.size(); ++inner) {
      Hierarchy parts{.all = all[static_cast<std::size_t>(members[inner])]};
      for (int rank = 0; rank < ranks; ++rank) parts.machine_of.push_back(rank / per_machine);
      if (members.size() > 1) std::tie(parts.inside, parts.spread) = std::tie(inside[inner], spread[inner]);
      if (inner == 0) parts.across = across[static_cast<std::size_t>(machine)];
      group.push_back(make_hierarchical_communicator(std::move(parts)));
    }
  }
  return group;
}

Group recorded(Recorder& recorder, const Collective& collective) {
  if (collective.algorithm == AllReduceAlgorithm::hierarchy)
    return recorded_hierarchy(recorder, collective.ranks, collective.ranks_per_machine);
  const bool ring = collective.algorithm == AllReduceAlgorithm::ring;
  return recorded_group(recorder, range(0, collective.ranks), 0,
                        ring ? make_ring_communicator : make_linked_communicator);
}

Sent really_sent(const Collective& collective) {
  Recorder recorder;
  const auto group = recorded(recorder, collective);
  on_ranks(group, [&](Communicator& communicator) {
    communicator.all_reduce(numbers(collective.bytes / 4, communicator.rank()))->wait(patience());
  });
  return recorder.sent;
}

/// Runs the programs of all ranks by turns, without costs.
class Replay final : public bench::RankActions {
 public:
  explicit Replay(const Collective& collective) {
    std::vector<std::unique_ptr<bench::RankProgram>> programs;
    for (int rank = 0; rank < collective.ranks; ++rank) programs.push_back(make_rank_program(collective, rank));
    for (const auto& program : programs) program->begin(*this);
    for (bool all_done = false, progress = true; !all_done && progress;) {
      progress = !pending_.empty();
      for (; !pending_.empty(); pending_.pop_front()) programs[pending_.front().to]->take(pending_.front());
      all_done = true;
      for (const auto& program : programs) all_done = program->advance(*this) && all_done;
      complete_ = all_done;
    }
  }

  bool complete() const { return complete_; }
  const Sent& sent() const { return sent_; }

  void send(const Message& message) override {
    sent_[{message.from, message.to}].emplace_back(message.ready, message.stage, message.phase, message.bytes);
    pending_.push_back(message);
  }
  void read(const Message&) override {}
  void copy(const Message&) override {}
  void add(std::int64_t) override {}
  void release(const Message&) override {}
  bool all_read(std::uint8_t) const override { return true; }

 private:
  Sent sent_;
  std::deque<Message> pending_;
  bool complete_ = false;
};

}  // namespace

TEST_CASE("the modelled schedule of an all-reduce is what the communicators send") {
  const auto algorithm = GENERATE(AllReduceAlgorithm::direct, AllReduceAlgorithm::ring, AllReduceAlgorithm::hierarchy);
  const int ranks = GENERATE(2, 3, 4, 8);
  // Summed everywhere; in slices, some of them empty; of which some are large; of several chunks, the last one short.
  const std::int64_t bytes = GENERATE(4, 1'024, 4'096, 4'100, 65'536 * 3 + 4, 4 << 20, (20 << 20) + 12);
  if (has_sanitizer() && ranks > 3 && bytes > 1 << 20) return;
  const Collective collective{algorithm, ranks, bytes, 3};
  INFO(to_string(algorithm) << ", " << ranks << " ranks, " << bytes << " bytes");
  const Replay replay(collective);
  CHECK(replay.complete());
  CHECK(replay.sent() == really_sent(collective));
}

TEST_CASE("the model of a network counts the time of every message") {
  // Two ranks send each other all of it; each message costs its sender and its receiver a second, and travels for ten.
  const Collective small{AllReduceAlgorithm::direct, 2, 1'024};
  CHECK(bench::predict(small, {.latency = 10, .message_cost = 1}).seconds == Approx(12));
  CHECK(bench::predict(small, {.latency = 10, .message_cost = 1}).messages == 2);
  // The port sends 1,240 bytes, of which 216 are headers; the sum adds 2,048.
  CHECK(bench::predict(small, {.bandwidth = 1'240, .sum_rate = 1'024}).seconds == Approx(3));
  // A ring of N ranks: that they are ready, and 2 (N - 1) steps.
  CHECK(bench::predict({AllReduceAlgorithm::ring, 8, 1 << 20}, {.latency = 1}).seconds == Approx(15));
  // Direct exchange: inputs and results, for any number of ranks.
  CHECK(bench::predict({AllReduceAlgorithm::direct, 8, 65'536}, {.latency = 1}).seconds == Approx(2));
  // On one machine: ready, inputs, results; and that those were read, if they are too large to be copied.
  const bench::ClusterCosts one_machine{.inside_latency = 1, .ranks_per_machine = 2};
  CHECK(bench::predict({AllReduceAlgorithm::direct, 2, 1 << 20, 2}, one_machine).seconds == Approx(3));
  CHECK(bench::predict({AllReduceAlgorithm::direct, 2, 4 << 20, 2}, one_machine).seconds == Approx(4));
}

TEST_CASE("modelled ranks of a machine share its processors, its memory and its port") {
  const Collective collective{AllReduceAlgorithm::direct, 4, 1'024};
  bench::ClusterCosts costs{.sum_rate = 4'096, .ranks_per_machine = 4};
  CHECK(bench::predict(collective, costs).seconds == Approx(1));
  costs.shared_cores = 2;
  CHECK(bench::predict(collective, costs).seconds == Approx(2));
  costs.memory_bandwidth = 4'096;
  CHECK(bench::predict(collective, costs).seconds > 2.5);
  // Two machines of two: each port sends, and receives, four messages of 1,240 bytes.
  CHECK(bench::predict(collective, {.bandwidth = 1'240, .ranks_per_machine = 2}).seconds == Approx(4));
}

TEST_CASE("the model refuses what makes no sense") {
  CHECK_THROWS_AS(bench::predict({AllReduceAlgorithm::mpi, 2, 1'024}, {}), Error);
  CHECK_THROWS_AS(bench::predict({AllReduceAlgorithm::direct, 0, 1'024}, {}), Error);
  CHECK_THROWS_AS(bench::predict({AllReduceAlgorithm::direct, 2, 1}, {}), Error);
  CHECK_THROWS_AS(bench::predict({AllReduceAlgorithm::direct, 2, 1'024}, {.latency = -1}), Error);
  CHECK_THROWS_AS(bench::predict({AllReduceAlgorithm::direct, 2, 1'024}, {.ranks_per_machine = 0}), Error);
}
