#pragma once

#include <functional>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/run/parameter_store.hpp"
#include "troupe/strategies/training/training_graph.hpp"

namespace troupe {

/// What a strategy makes a plan of.
struct PlanRequest {
  const TrainingSpec& spec;
  const Dataset& data;
  std::uint64_t seed;
  ParameterStore& store;
  /// What the sink of a replica reads: outputs of the graph, then the batch info.
  std::vector<std::string> sink_inputs;
  std::function<TaskFactory(int replica)> make_sink;
};

/// A way of composing actors: from a graph and the devices to a plan. One's own strategy overrides training_plan;
/// public headers are all it needs.
class Strategy {
 public:
  explicit Strategy(std::vector<Device> devices);
  virtual ~Strategy() = default;

  virtual std::string name() const = 0;
  /// Replicas whose gradients make one update. Replica r runs on devices()[r].
  int num_replicas_in_sync() const { return static_cast<int>(devices_.size()); }
  const std::vector<Device>& devices() const { return devices_; }

  /// A plan that takes one training step a batch.
  virtual Plan training_plan(const PlanRequest& request) const = 0;
  /// A plan that only computes the outputs, on all devices.
  virtual Plan evaluation_plan(const PlanRequest& request) const;

 protected:
  /// Adds loader, graph and sink of one replica to a plan, and its parameters to the store.
  void add_replica(Plan& plan, const PlanRequest& request, const Graph& graph, int replica,
                   const std::function<ActorId(Plan&, const Node&)>& make_collective = {}) const;
  /// An empty plan for the batches of the request.
  Plan empty_plan(const PlanRequest& request) const;

 private:
  std::vector<Device> devices_;
};

}  // namespace troupe
