#include "troupe/bench/collective_schedule.hpp"

#include <algorithm>
#include <array>

#include "troupe/bench/linked_program.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/transport/hierarchy/stage_queue.hpp"

namespace troupe::bench {

namespace {

using hierarchy::kStages;

/// Replays HierarchicalCommunicator::all_reduce: a sum inside the machine, a sum across machines, a broadcast inside.
/// During the sums the ranks also compare the collectives that they have begun.
class HierarchyProgram final : public RankProgram {
 public:
  HierarchyProgram(const Collective& collective, int rank) {
    const auto elements = collective.bytes / 4;
    const int per_machine = std::min(collective.ranks_per_machine, collective.ranks);
    const int inner = rank % per_machine, first = rank - inner;
    const int members = std::min(per_machine, collective.ranks - first);
    const int machines = (collective.ranks + per_machine - 1) / per_machine;
    if (members > 1) {
      checks_[0] = std::make_unique<LinkedProgram>(Members{first, members, 1, 0, true}, inner, check_sizes());
      stages_[0] = std::make_unique<LinkedProgram>(Members{first, members, 1, 0}, inner,
                                                   all_reduce_sizes(elements, members, inner));
      stages_[2] =
          std::make_unique<LinkedProgram>(Members{first, members, 1, 2}, inner, broadcast_sizes(elements, inner));
    }
    if (inner != 0) return;
    checks_[1] =
        std::make_unique<LinkedProgram>(Members{0, machines, per_machine, 1, true}, rank / per_machine, check_sizes());
    stages_[1] = std::make_unique<LinkedProgram>(Members{0, machines, per_machine, 1}, rank / per_machine,
                                                 all_reduce_sizes(elements, machines, rank / per_machine));
  }

  void begin(RankActions& actions) override { begin_stage(actions); }
  void take(const Message& message) override { (message.check ? checks_ : stages_).at(message.stage)->take(message); }

  bool advance(RankActions& actions) override {
    while (stage_ < kStages && advance_stage(actions)) {
      ++stage_;
      begin_stage(actions);
    }
    return stage_ == kStages;
  }

 private:
  bool advance_stage(RankActions& actions) {
    const bool checked = !checks_[stage_] || checks_[stage_]->advance(actions);
    return stages_[stage_]->advance(actions) && checked;
  }

  /// Begins the next stage in which this rank takes part.
  void begin_stage(RankActions& actions) {
    while (stage_ < kStages && !stages_[stage_]) ++stage_;
    if (stage_ < kStages && checks_[stage_]) checks_[stage_]->begin(actions);
    if (stage_ < kStages) stages_[stage_]->begin(actions);
  }

  std::array<std::unique_ptr<RankProgram>, kStages> stages_, checks_;  // null where the rank takes no part
  std::size_t stage_ = 0;
};

}  // namespace

std::unique_ptr<RankProgram> make_rank_program(const Collective& collective, int rank) {
  const auto& [algorithm, ranks, bytes, ranks_per_machine] = collective;
  if (ranks < 1 || bytes < 4 || ranks_per_machine < 1 || rank < 0 || rank >= ranks)
    throw Error("collective_schedule", "ranks, ranks per machine and elements of the tensor must be positive, not " +
                                           std::to_string(ranks) + ", " + std::to_string(ranks_per_machine) + " and " +
                                           std::to_string(bytes / 4));
  const auto elements = bytes / 4;
  const bool small = bytes <= static_cast<std::int64_t>(linked::kSmallBytes);
  if (algorithm == AllReduceAlgorithm::hierarchy) return std::make_unique<HierarchyProgram>(collective, rank);
  if (algorithm == AllReduceAlgorithm::ring && !small) return std::make_unique<RingProgram>(ranks, rank, elements);
  if (algorithm == AllReduceAlgorithm::mpi) throw Error("collective_schedule", "the schedule of MPI is not known");
  return std::make_unique<LinkedProgram>(Members{.ranks = ranks}, rank, all_reduce_sizes(elements, ranks, rank));
}

}  // namespace troupe::bench
