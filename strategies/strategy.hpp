#pragma once

#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "troupe/actors/plan/place.hpp"
#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/strategies/lifetime_token.hpp"
#include "troupe/strategies/step/replica.hpp"

namespace troupe {

/// A strategy maps a training program and places to plans. A user-defined strategy overrides training_plan() and builds
/// the plan with the functions in strategies/step: replica.hpp adds replicas with their parameters, worker.hpp adds
/// workers without parameters, and shards.hpp adds the shards, the actors that hold the workers' parameters. All of
/// these headers are public.
class Strategy {
 public:
  /// Replica r runs at `places[r]`; several replicas may share a place. Throws Error if `places` is empty, or if a
  /// place has a negative process or device number.
  explicit Strategy(std::vector<Place> places);
  virtual ~Strategy() = default;

  /// The number of replicas. Replica r runs at places()[r].
  int num_replicas_in_sync() const { return static_cast<int>(places_.size()); }
  const std::vector<Place>& places() const { return places_; }
  /// Replica `number` of training_plan(), as an argument of functions such as add_replica() and add_worker().
  Replica replica_at(int number) const;
  /// True if every replica computes a part of each training step. False: one replica computes a whole step.
  virtual bool shares_steps() const { return true; }
  /// True if a replica applies its part of a step although the loss or the gradients of another replica are not finite,
  /// so that a step may be applied in part. False: all replicas decide together.
  virtual bool decides_by_replica() const { return false; }
  /// The number of steps that one update of the parameters in the store is made of. The trainer counts updates to find
  /// the position of a fit whose run was given up. Not set: the number varies; the position is then that after the
  /// reported steps.
  virtual std::optional<std::int64_t> steps_per_update() const { return 1; }
  /// The replicas whose sinks report the steps of training_plan(): all of them by default. If replicas share steps, a
  /// step is complete when each of these has reported its part; a fit fails if one has no sink or leaves a step out.
  virtual std::vector<int> reporting_replicas() const;
  /// Whether the replicas of training_plan() have equal copies of each parameter whenever no run is in progress. True:
  /// a run fails to begin if copies are of different versions, and to end if replicas have made different numbers of
  /// updates. False: a run leaves copies of different versions behind, which a strategy with equal copies refuses until
  /// ParameterStore::keep() has chosen one. Not set, the default: false for a training plan whose external actors write
  /// copies of several replicas, true for any other training plan; evaluation and prediction are not checked.
  virtual std::optional<bool> equal_copies() const { return std::nullopt; }
  /// The number of rows of a training step, for batches of `batch_rows` rows; see Dataset::largest_batch(). By default
  /// a step is a batch if replicas share steps, else it has as many rows as the first of num_replicas_in_sync() parts
  /// of a batch.
  virtual std::int64_t step_rows(std::int64_t batch_rows) const;

  /// Expires when this strategy is destroyed. A trainer keeps a reference to its strategy.
  std::weak_ptr<const void> lifetime() const { return lifetime_.watch(); }

  /// Sets the places of evaluation and prediction. Empty, the default: the strategy chooses them. Throws Error if a
  /// place has a negative process or device number.
  void set_forward_places(std::vector<Place> places);
  /// The places of evaluation and prediction: the places given to set_forward_places(), or those of the replicas if
  /// none were given.
  virtual std::vector<Place> forward_places() const { return forward_places_.empty() ? places_ : forward_places_; }
  /// The processes whose loss does not end a run; see Plan::expendable.
  virtual std::set<int> expendable() const { return {}; }

  /// Returns a plan whose steps train the model; see step_rows() for the rows of a step.
  virtual Plan training_plan(const PlanRequest& request) const = 0;
  /// Returns a plan that computes loss and metrics of the batches.
  virtual Plan evaluation_plan(const PlanRequest& request) const;
  /// Returns a plan that computes the outputs of the model for the batches.
  virtual Plan prediction_plan(const PlanRequest& request) const;

 protected:
  /// The places given to set_forward_places().
  const std::vector<Place>& given_forward_places() const { return forward_places_; }

 private:
  Plan forward_plan(const PlanRequest& request, const Graph& graph) const;

  std::vector<Place> places_, forward_places_;
  LifetimeToken lifetime_;
};

/// Places on rank 0, one for each device.
std::vector<Place> places_of(const std::vector<Device>& devices);

}  // namespace troupe
