#include "troupe/actors/shard/consistency_rule.hpp"

#include <cmath>
#include <string>

#include "troupe/ops/core/error.hpp"

namespace troupe {

ConsistencyRule ConsistencyRule::with_backup(int workers, int backup) {
  if (backup < 0)
    throw Error("consistency", "the number of backup workers must not be negative, it is " + std::to_string(backup));
  return {.workers = workers, .quorum = workers - backup, .late = LateGradients::dropped};
}

void ConsistencyRule::check() const {
  const auto refuse = [](const std::string& reason) { throw Error("consistency", reason); };
  if (workers < 1) refuse("needs at least one worker");
  if (quorum < 1) refuse("an update needs the gradient of at least one worker, not " + std::to_string(quorum));
  if (quorum > workers)
    refuse("an update needs " + std::to_string(quorum) + " gradients, but there are " + std::to_string(workers) +
           " workers");
  if (quorum > 1 && quorum < workers && (staleness != 0 || late != LateGradients::dropped))
    refuse("updates of the gradients of some of the workers must drop the late ones, and have no staleness");
  if (staleness < 0) refuse("the staleness must not be negative, it is " + std::to_string(staleness));
  if (!(compensation >= 0.0) || !std::isfinite(compensation))
    refuse("the compensation must be finite and not negative, it is " + std::to_string(compensation));
}

}  // namespace troupe
