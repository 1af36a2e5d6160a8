#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "troupe/actors/plan/place.hpp"
#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/ops/data/dataset.hpp"
#include "troupe/strategies/step/training_graph.hpp"

namespace troupe {

struct BatchSource;

/// What a strategy makes a plan of.
struct PlanRequest {
  const TrainingSpec& spec;
  const Dataset& data;
  std::uint64_t seed;
  /// What the sink of a replica reads: outputs of the graph, then the batch info.
  std::vector<std::string> sink_inputs;
  /// Names under which the spawn context has the data and the sink's task.
  std::string source = "data";
  std::string sink = "metrics";
  /// If given, this makes the batches; the data set then has its fields and no samples.
  const BatchSource* batches = nullptr;
};

/// A way of composing actors: from a graph and the places to a plan. A user-defined strategy overrides training_plan;
/// public headers are all it needs.
class Strategy {
 public:
  /// Replica r runs at `places[r]`; several may share one.
  explicit Strategy(std::vector<Place> places);
  virtual ~Strategy() = default;

  /// Replicas whose gradients make one update. Replica r runs at places()[r].
  int num_replicas_in_sync() const { return static_cast<int>(places_.size()); }
  const std::vector<Place>& places() const { return places_; }
  /// Whether every replica computes a part of each training step. If not, each step is of one of them, and has as many
  /// rows as the first such part would have.
  virtual bool shares_steps() const { return true; }
  /// Rows of a training step, where a batch has so many.
  std::int64_t step_rows(std::int64_t batch_rows) const;

  /// Where evaluation and prediction run.
  virtual std::vector<Place> forward_places() const { return places_; }
  /// Processes that a run goes on without if they are lost.
  virtual std::set<int> expendable() const { return {}; }

  /// A plan that takes one training step per batch.
  virtual Plan training_plan(const PlanRequest& request) const = 0;
  /// A plan that computes loss and metrics.
  virtual Plan evaluation_plan(const PlanRequest& request) const;
  /// A plan that computes the outputs of the model.
  virtual Plan prediction_plan(const PlanRequest& request) const;

 protected:
  /// Adds loader, graph and sink of one replica to a plan.
  void add_replica(Plan& plan, const PlanRequest& request, const Graph& graph, int replica,
                   const std::function<ActorId(Plan&, const Node&)>& make_collective = {}) const;
  /// Adds the sink of a replica, which reads some outputs of its graph and the batch info.
  void add_sink(Plan& plan, const PlanRequest& request, const std::map<std::string, OutputRef>& outputs,
                const OutputRef& batch_info, int replica) const;
  /// An empty plan for the batches of the request.
  Plan empty_plan(const PlanRequest& request) const;

 private:
  /// One of several that share the batches.
  struct Replica {
    int number, count;
    Place place;
  };
  using MakeCollective = std::function<ActorId(Plan&, const Node&)>;

  static Plan empty_plan(const PlanRequest& request, int replicas);
  struct Input;
  static Input add_input(Plan& plan, const PlanRequest& request, const std::vector<std::string>& fields,
                         const Replica& replica);
  static Input add_loaders(Plan& plan, const PlanRequest& request, const std::vector<std::string>& fields,
                           const Replica& replica);
  static void add_replica(Plan& plan, const PlanRequest& request, const Graph& graph, const Replica& replica,
                          const MakeCollective& make_collective);
  static void add_sink(Plan& plan, const PlanRequest& request, const std::map<std::string, OutputRef>& outputs,
                       const OutputRef& batch_info, const Replica& replica);
  Plan forward_plan(const PlanRequest& request, const Graph& graph) const;

  std::vector<Place> places_;
};

/// The devices of this process as places.
std::vector<Place> places_of(const std::vector<Device>& devices);

}  // namespace troupe
