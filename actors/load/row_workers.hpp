#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "troupe/actors/caf/fwd.hpp"
#include "troupe/ops/pipeline/row_executor.hpp"

namespace troupe {

/// Actors that compute the rows of a pipeline on the threads of their actor system. An actor takes one job at a time,
/// so that it shares its thread with other actors. Jobs that have not begun when the object is destroyed are dropped.
/// Thread-safe.
class RowWorkers final : public RowExecutor {
 public:
  /// Spawns `threads` actors, at least 1. The actor system must outlive the object.
  RowWorkers(caf::actor_system& system, int threads);
  ~RowWorkers() override;

  int threads() const override;
  void run(std::function<void()> job) override;

 private:
  struct Shared;

  std::shared_ptr<Shared> shared_;
};

}  // namespace troupe
