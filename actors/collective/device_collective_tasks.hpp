#pragma once

#include <memory>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/task/task.hpp"
#include "troupe/transport/device_communicator.hpp"

namespace troupe {

/// A collective between devices, seen from one rank: from its begin, by the conductor, to its end, by the rank's own
/// actor. Never used by both at once: the conductor's order lies in between.
struct BegunDeviceCollective {
  ProgressListener on_progress;
  std::shared_ptr<DeviceWork> work;
  std::size_t local = 0;  // the rank's number in this process
  /// What an all-gather fills; an all-reduce works in place.
  Tensor gathered = {};
};

/// One rank's part of a collective of its first input, in memory of the rank's device. The second input is the
/// conductor's signal that it has begun. What follows on the actor's stream waits there for the result.
class DeviceCollectiveTask final : public Task {
 public:
  explicit DeviceCollectiveTask(std::shared_ptr<BegunDeviceCollective> begun) : begun_(std::move(begun)) {}

  bool runs_on_device() const override { return true; }
  void begin(const RunInfo& run, std::function<void()> wake) override;
  bool fire(const Firing& firing) override;
  bool advance(const Firing& firing) override;
  void skip(const FailurePtr& failure) override;
  std::string waits_for() const override;

 private:
  std::shared_ptr<BegunDeviceCollective> begun_;
};

/// The conductor's task: begins a collective for all ranks of the process, input i being the tensor of `ranks[i]`,
/// whichever device it lies on.
class BeginDeviceCollectiveTask final : public Task {
 public:
  enum class Kind { all_reduce, all_gather };
  /// `origin` says whose task it is, for the failure that the other ranks get.
  BeginDeviceCollectiveTask(Kind kind, std::shared_ptr<DeviceCommunicator> communicator,
                            std::vector<std::shared_ptr<BegunDeviceCollective>> ranks, Failure origin)
      : kind_(kind), communicator_(std::move(communicator)), ranks_(std::move(ranks)), origin_(std::move(origin)) {}

  bool runs_on_device() const override { return true; }
  bool reads_any_device() const override { return true; }
  bool fire(const Firing& firing) override;
  /// A step that failed here will not come to its collective: no other rank must wait for it.
  void skip(const FailurePtr& failure) override;

 private:
  std::shared_ptr<DeviceWork> begin_on(std::span<const Tensor> inputs, const Event& ready) const;

  Kind kind_;
  std::shared_ptr<DeviceCommunicator> communicator_;
  std::vector<std::shared_ptr<BegunDeviceCollective>> ranks_;
  Failure origin_;
};

std::unique_ptr<Task> make_device_collective_task(const PlanActor& actor, SpawnContext& context);
std::unique_ptr<Task> make_begin_device_all_reduce_task(const PlanActor& actor, SpawnContext& context);
std::unique_ptr<Task> make_begin_device_all_gather_task(const PlanActor& actor, SpawnContext& context);

}  // namespace troupe
