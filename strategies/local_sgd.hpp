#pragma once

#include "troupe/ops/nn/optimizer.hpp"
#include "troupe/strategies/sharded_strategy.hpp"

namespace troupe {

struct LocalSgdOptions {
  /// Steps that a worker makes by itself before the workers meet.
  std::int64_t local_steps = 8;
  /// What makes an update of the common parameters, of the mean change of the workers'. By default they become the mean
  /// of the workers'.
  Optimizer outer = Sgd{.lr = 1.0};
};

/// Each worker trains parameters of its own, with its part of every batch, and every few steps all meet: what their
/// parameters have changed, weighted by the rows behind it, is taken as a gradient of the common parameters, with which
/// all go on. An epoch ends with such a meeting. Source: S. Stich, Local SGD converges fast and communicates little,
/// 2019.
class LocalSgd : public ShardedStrategy {
 public:
  /// Worker w runs at workers[w], the common parameters lie at the servers. Throws Error if an option is out of range.
  LocalSgd(std::vector<Place> workers, std::vector<Place> servers, LocalSgdOptions options = {});

  Plan training_plan(const PlanRequest& request) const override;

 private:
  LocalSgdOptions options_;
};

/// Local SGD with many local steps, usually of AdamW, and an outer optimizer with Nesterov's momentum. Source: A.
/// Douillard et al., DiLoCo: distributed low-communication training of language models, 2023.
class DiLoCo final : public LocalSgd {
 public:
  DiLoCo(std::vector<Place> workers, std::vector<Place> servers, std::int64_t local_steps = 500, double outer_lr = 0.7,
         double momentum = 0.9)
      : LocalSgd(std::move(workers), std::move(servers),
                 {local_steps, Sgd{.lr = outer_lr, .momentum = momentum, .nesterov = true}}) {}
};

}  // namespace troupe
