#pragma once

#include <memory>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/task/task.hpp"
#include "troupe/transport/communicator.hpp"

namespace troupe {

/// A collective of one rank between its begin, by the conductor, and its end, by the rank's own actor. Never used by
/// both at once: the conductor's order lies in between.
struct BegunCollective {
  ProgressListener on_progress;
  std::unique_ptr<Work> work;
  /// What an all-gather fills; an all-reduce works in place.
  Tensor gathered = {};
};

/// One rank's part of a collective of its first input. The second input is the conductor's signal that it has begun;
/// what this rank has to do for it is done here.
class CollectiveTask final : public Task {
 public:
  /// `origin` says whose task it is, for the failure that the other ranks get.
  CollectiveTask(std::shared_ptr<BegunCollective> begun, Failure origin)
      : begun_(std::move(begun)), origin_(std::move(origin)) {}

  void begin(const RunInfo& run, std::function<void()> wake) override;
  bool fire(const Firing& firing) override;
  bool advance(const Firing& firing) override;
  /// The conductor may have failed when it had begun for this rank, but not for all.
  void skip(const FailurePtr& failure) override;
  std::string waits_for() const override;

 private:
  std::shared_ptr<BegunCollective> begun_;
  Failure origin_;
};

/// The conductor's task: begins a collective for the local ranks, input i being the tensor of `ranks[i]`.
class BeginCollectiveTask final : public Task {
 public:
  struct Rank {
    std::shared_ptr<Communicator> communicator;
    std::shared_ptr<BegunCollective> begun;
  };
  enum class Kind { all_reduce, all_gather };
  /// `origin` as above.
  BeginCollectiveTask(Kind kind, std::vector<Rank> ranks, Failure origin)
      : kind_(kind), ranks_(std::move(ranks)), origin_(std::move(origin)) {}

  bool fire(const Firing& firing) override;
  /// A step that failed here will not come to its collective: no other rank must wait for it.
  void skip(const FailurePtr& failure) override;

 private:
  void begin_for(const Rank& rank, const Tensor& input) const;

  Kind kind_;
  std::vector<Rank> ranks_;
  Failure origin_;
};

std::unique_ptr<Task> make_collective_task(const PlanActor& actor, SpawnContext& context);
std::unique_ptr<Task> make_begin_all_reduce_task(const PlanActor& actor, SpawnContext& context);
std::unique_ptr<Task> make_begin_all_gather_task(const PlanActor& actor, SpawnContext& context);

}  // namespace troupe
