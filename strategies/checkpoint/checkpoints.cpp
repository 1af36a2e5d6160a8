#include "troupe/strategies/checkpoint/checkpoints.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/checkpoint/checkpoint_folder.hpp"

namespace troupe {

void check_checkpoints(const Checkpoints& options) {
  if (options.folder.empty()) throw Error(kCheckpointPlace, "needs a folder");
  if (options.every_steps < 1) throw Error(kCheckpointPlace, "needs at least one step before each checkpoint");
  if (options.keep_last < 1) throw Error(kCheckpointPlace, "at least one checkpoint must be kept");
}

}  // namespace troupe
