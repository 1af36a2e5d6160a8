#pragma once

#include <memory>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/transport/communicator.hpp"

namespace troupe {

/// A collective of one rank between its begin, by the conductor, and its end, by the rank's own actor. Never used by
/// both at once: the conductor's order lies in between.
struct BegunCollective {
  std::function<void()> on_progress;
  std::unique_ptr<Work> work;
};

/// One rank's part of an all-reduce in place of its first input. The second input is the conductor's word that the
/// collective has begun; what this rank has to do for it is done here.
class AllReduceTask final : public Task {
 public:
  explicit AllReduceTask(std::shared_ptr<BegunCollective> begun) : begun_(std::move(begun)) {}

  void begin(const RunInfo& run, std::function<void()> wake) override;
  bool fire(const Firing& firing) override { return advance(firing); }
  bool advance(const Firing& firing) override;
  std::string waits_for() const override;

 private:
  std::shared_ptr<BegunCollective> begun_;
};

/// The conductor of one communicator: it begins collectives in the order of their indices, each when the tensors of all
/// local ranks are there, so that all ranks agree on the order.
class Conductor {
 public:
  /// `ranks[i]` is the end of local replica i. The conductor itself works on `device`.
  Conductor(std::vector<std::shared_ptr<Communicator>> ranks, Device device);

  /// Adds collective number `index` of a replica, an all-reduce in place of its input; the input must be connected
  /// first of all inputs. All replicas must add the same indices.
  ActorId add_all_reduce(Plan& plan, int index, int replica, Device device, const TensorInfo& info);
  /// Adds the actors that order the collectives, after every replica's inputs are connected.
  void finish(Plan& plan);

 private:
  struct Part {
    ActorId actor;
    int replica;
    std::shared_ptr<BegunCollective> begun;
  };
  TaskFactory begin_task(std::size_t index) const;

  std::vector<std::shared_ptr<Communicator>> ranks_;
  Device device_;
  std::vector<std::vector<Part>> collectives_;  // by index
};

}  // namespace troupe
