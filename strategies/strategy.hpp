#pragma once

#include <set>
#include <utility>
#include <vector>

#include "troupe/actors/plan/place.hpp"
#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/strategies/step/replica.hpp"

namespace troupe {

/// A way of composing actors: maps a graph and places to a plan. A user-defined strategy overrides training_plan(),
/// with the functions in strategies/step that add the pieces of a step to a plan: replica.hpp adds whole replicas,
/// worker.hpp workers whose parameters lie elsewhere, shards.hpp the shards of those. Public headers are enough.
class Strategy {
 public:
  /// Replica r runs at `places[r]`; several may share one. Throws Error if there is none.
  explicit Strategy(std::vector<Place> places);
  virtual ~Strategy() = default;

  /// Number of replicas whose gradients make one update. Replica r runs at places()[r].
  int num_replicas_in_sync() const { return static_cast<int>(places_.size()); }
  const std::vector<Place>& places() const { return places_; }
  /// A replica of the training, as the functions take it that add it to a plan.
  Replica replica_at(int number) const;
  /// Whether every replica computes a part of each training step. If not, each step is of one replica, and has the rows
  /// of the first such part.
  virtual bool shares_steps() const { return true; }
  /// Rows of a training step, for batches of `batch_rows` rows.
  std::int64_t step_rows(std::int64_t batch_rows) const;

  /// Sets the places of evaluation and prediction. Empty, the default: the strategy chooses them.
  void set_forward_places(std::vector<Place> places) { forward_places_ = std::move(places); }
  /// The places of evaluation and prediction: those that were set, otherwise those of the replicas.
  virtual std::vector<Place> forward_places() const { return forward_places_.empty() ? places_ : forward_places_; }
  /// Expendable processes: a run goes on without them if they are lost.
  virtual std::set<int> expendable() const { return {}; }

  /// A plan that takes one training step per batch.
  virtual Plan training_plan(const PlanRequest& request) const = 0;
  /// A plan that computes loss and metrics.
  virtual Plan evaluation_plan(const PlanRequest& request) const;
  /// A plan that computes the outputs of the model.
  virtual Plan prediction_plan(const PlanRequest& request) const;

 protected:
  /// The places given to set_forward_places().
  const std::vector<Place>& given_forward_places() const { return forward_places_; }

 private:
  Plan forward_plan(const PlanRequest& request, const Graph& graph) const;

  std::vector<Place> places_, forward_places_;
};

/// The devices of this process as places.
std::vector<Place> places_of(const std::vector<Device>& devices);

}  // namespace troupe
