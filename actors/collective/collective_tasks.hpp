#pragma once

#include <memory>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/task/collective_start.hpp"
#include "troupe/actors/task/task.hpp"
#include "troupe/transport/communicator.hpp"

namespace troupe {

/// The task of one rank in a collective. Its first input is the tensor of the rank. Its second input is the edge from
/// the conductor (see BeginCollectiveTask), over which the collective that the conductor has begun arrives. The task
/// advances the collective until the part of the rank is complete. If the collective does not work in place, the task
/// copies the rank's result to its output. On a device the part may still run then, and the actor's stream waits for
/// it.
class CollectiveTask final : public Task {
 public:
  /// `rank` is the number of the rank among those for which the conductor begins the collective. `origin` names the
  /// actor in the failure that the other ranks receive if this rank fails.
  CollectiveTask(std::size_t rank, Failure origin) : rank_(rank), origin_(std::move(origin)) {}

  bool runs_on_device() const override { return true; }
  void begin(const RunInfo& run, std::function<void()> wake) override;
  bool fire(const Firing& firing) override;
  bool advance(const Firing& firing) override;
  /// Drops the rank's part of the collective, which the conductor may have begun although the step has failed for this
  /// rank.
  void skip(const Firing& firing, const FailurePtr& failure) override;
  std::string waits_for() const override;

 private:
  RankWork& begun(const Firing& firing) const;

  std::size_t rank_;
  Failure origin_;
  ProgressListener wake_;
  const RankWork* pending_ = nullptr;
};

/// The task of a conductor: begins a collective for ranks of its process. Input i is the tensor of the i-th of these
/// ranks, on any device. Rank 0 of the communicator is the root of a collective that has a root.
class BeginCollectiveTask final : public Task {
 public:
  /// One end of the communicator in this process, and the conductor's inputs for its ranks.
  struct Member {
    std::shared_ptr<Communicator> communicator;
    /// In the order of the end's ranks: the number of the input with the tensor of the rank.
    std::vector<std::size_t> inputs;
  };

  /// `origin` names the actor in the failure that all ranks receive if the collective cannot begin.
  BeginCollectiveTask(CollectiveKind kind, std::vector<Member> members, Failure origin);

  bool runs_on_device() const override { return true; }
  bool reads_any_device() const override { return true; }
  bool fire(const Firing& firing) override;
  /// Leaves the communicator, because the step has failed before the collective began: the ranks of other processes
  /// fail instead of waiting for this process.
  void skip(const Firing& firing, const FailurePtr& failure) override;

 private:
  const std::shared_ptr<CollectiveStart>& unused_start();
  static void prepare_output(Tensor& output, const Tensor& input, std::int64_t elements);
  void begin_for(const Member& member, const Firing& firing, const Event& ready, CollectiveStart& start);
  void give_up(CollectiveStart& start);

  CollectiveKind kind_;
  std::vector<Member> members_;
  Failure origin_;
  std::size_t ranks_ = 0;
  // `starts_` and `parts_` are reused by later steps, so that a step allocates no memory.
  std::vector<std::shared_ptr<CollectiveStart>> starts_;
  std::vector<Part> parts_;
};

std::unique_ptr<Task> make_collective_task(const PlanActor& actor, SpawnContext& context);
std::unique_ptr<Task> make_begin_collective_task(const PlanActor& actor, SpawnContext& context);

}  // namespace troupe
