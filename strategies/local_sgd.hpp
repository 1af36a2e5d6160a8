#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "troupe/actors/plan/plan_fwd.hpp"
#include "troupe/ops/nn/optimizer.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/strategies/strategy.hpp"

namespace troupe {

struct LocalSgdOptions {
  /// The number of steps of each worker between two exchanges with the servers.
  std::int64_t local_steps = 8;
  /// The optimizer that updates the common parameters on the servers. Its gradient is the common parameters minus the
  /// mean of the workers' copies. With the default, the common parameters become this mean. Its states are
  /// `NAME/outer/STATE`. It may average the common parameters; the optimizer of the workers must not.
  Optimizer outer = Sgd{.lr = 1.0};
};

/// A strategy in which each worker trains its own copy of the parameters with its part of every batch. After every
/// `local_steps` steps the workers exchange parameters with the servers: the common parameters minus the mean of all
/// copies, weighted by rows, are applied as a gradient to the common parameters, and every copy is set to the common
/// parameters. A run ends with such an exchange, even after fewer steps: at the end of an epoch or of a fit, at a
/// pause, and at a step boundary for another thread (ParameterReader). With several local steps, such an exchange
/// changes the results. A loss that divides by weights divides by those of a worker's rows. A worker whose step fails
/// leaves out its parts of the step and of later ones; the others keep theirs. training_plan() throws Error if the
/// optimizer of the trainer averages parameters, or if the outer optimizer freezes a parameter that the workers train
/// or clips at a norm of gradients on several servers. Source: S. Stich, Local SGD converges fast and communicates
/// little, 2019.
class LocalSgd : public Strategy {
 public:
  /// Worker w runs at workers[w]; the common parameters lie in host memory at the servers. Throws Error if there is no
  /// server, an option is out of range, or `server_options` has a hook or an actor for gradients, since workers send no
  /// gradients.
  LocalSgd(std::vector<Place> workers, const std::vector<Place>& servers, LocalSgdOptions options = {},
           ServerOptions server_options = {});

  bool decides_by_replica() const override { return true; }
  std::optional<std::int64_t> steps_per_update() const override { return options_.local_steps; }
  std::optional<bool> equal_copies() const override { return true; }
  Plan training_plan(const PlanRequest& request) const override;

 private:
  std::vector<Place> servers_;
  LocalSgdOptions options_;
  Sharding sharding_;
};

/// Local SGD with many local steps, usually of AdamW, and an outer optimizer with Nesterov momentum. Source: A.
/// Douillard et al., DiLoCo: distributed low-communication training of language models, 2023.
class DiLoCo final : public LocalSgd {
 public:
  static constexpr double kOuterLr = 0.7, kMomentum = 0.9;

  DiLoCo(std::vector<Place> workers, const std::vector<Place>& servers, std::int64_t local_steps = 500,
         double outer_lr = kOuterLr, double momentum = kMomentum, ServerOptions server_options = {})
      : LocalSgd(std::move(workers), servers,
                 {local_steps, Sgd{.lr = outer_lr, .momentum = momentum, .nesterov = true}},
                 std::move(server_options)) {}
};

}  // namespace troupe
