#pragma once

#include <memory>
#include <vector>

#include "actors/plan.hpp"
#include "transport/communicator.hpp"

namespace troupe {

/// Reduces its first input over all ranks, in place. The second input is the conductor's order to begin.
class AllReduceTask final : public Task {
 public:
  explicit AllReduceTask(std::shared_ptr<Communicator> communicator) : communicator_(std::move(communicator)) {}

  void begin(const RunInfo& run, std::function<void()> wake) override;
  bool fire(const Firing& firing) override;
  bool advance(const Firing& firing) override;
  std::string waits_for() const override;

 private:
  std::shared_ptr<Communicator> communicator_;
  std::function<void()> wake_;
  std::unique_ptr<Work> work_;
};

/// The conductor of one communicator: it begins collectives in the order in which they were added, each when the tensors
/// of all local ranks are there, so that all ranks agree on the order.
class Conductor {
 public:
  /// `ranks[i]` is the end of local replica i. The conductor itself works on `device`.
  Conductor(std::vector<std::shared_ptr<Communicator>> ranks, Device device);

  /// Adds collective number `index` of a replica, an all-reduce in place of its input; the input must be connected first
  /// of all inputs. All replicas must add the same indices.
  ActorId add_all_reduce(Plan& plan, int index, int replica, Device device, const TensorInfo& info);
  /// Adds the actors that order the collectives, after every replica's inputs are connected.
  void finish(Plan& plan);

 private:
  std::vector<std::shared_ptr<Communicator>> ranks_;
  Device device_;
  std::vector<std::vector<ActorId>> collectives_;  // by index and replica
};

}  // namespace troupe
