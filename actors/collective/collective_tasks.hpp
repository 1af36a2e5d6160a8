#pragma once

#include <memory>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/task/collective_start.hpp"
#include "troupe/actors/task/task.hpp"
#include "troupe/transport/communicator.hpp"

namespace troupe {

/// The part of one rank in a collective of its first input. The second input is the edge of the conductor, which has
/// begun the collective; this task does the rest of the rank's work. On a device the actor's stream waits for the
/// result.
class CollectiveTask final : public Task {
 public:
  /// `rank` is the number of the rank among those of its process. `origin` names the actor in the failure that the
  /// other ranks receive.
  CollectiveTask(std::size_t rank, Failure origin) : rank_(rank), origin_(std::move(origin)) {}

  bool runs_on_device() const override { return true; }
  void begin(const RunInfo& run, std::function<void()> wake) override;
  bool fire(const Firing& firing) override;
  bool advance(const Firing& firing) override;
  /// Drops the rank's work: the conductor may have begun the collective although this rank has failed.
  void skip(const Firing& firing, const FailurePtr& failure) override;
  std::string waits_for() const override;

 private:
  RankWork& begun(const Firing& firing) const;

  std::size_t rank_;
  Failure origin_;
  ProgressListener wake_;
  const RankWork* pending_ = nullptr;
};

/// The conductor's task: begins a collective for the ranks of its process. Input i is the tensor of rank i of these, on
/// any device. Rank 0 is the root of a collective that has a root.
class BeginCollectiveTask final : public Task {
 public:
  /// One end of the communicator in this process.
  struct Member {
    std::shared_ptr<Communicator> communicator;
    /// By rank of this end: the input with the rank's tensor.
    std::vector<std::size_t> inputs;
  };

  /// `origin` names the actor in the failure that all ranks receive if the collective cannot begin.
  BeginCollectiveTask(CollectiveKind kind, std::vector<Member> members, Failure origin);

  bool runs_on_device() const override { return true; }
  bool reads_any_device() const override { return true; }
  bool fire(const Firing& firing) override;
  /// Leaves the collective of a step that failed here, so that no other rank waits for it.
  void skip(const Firing& firing, const FailurePtr& failure) override;

 private:
  const std::shared_ptr<CollectiveStart>& unused_start();
  void begin_for(const Member& member, const Firing& firing, const Event& ready, CollectiveStart& start);
  void give_up(CollectiveStart& start);

  CollectiveKind kind_;
  std::vector<Member> members_;
  Failure origin_;
  std::size_t ranks_ = 0;
  // Reused in later steps, so that a step allocates none.
  std::vector<std::shared_ptr<CollectiveStart>> starts_;
  std::vector<Part> parts_;
};

std::unique_ptr<Task> make_collective_task(const PlanActor& actor, SpawnContext& context);
std::unique_ptr<Task> make_begin_collective_task(const PlanActor& actor, SpawnContext& context);

}  // namespace troupe
