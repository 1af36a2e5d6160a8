#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace troupe {

/// The checkpoints that a fit writes; see FitOptions::checkpoints.
struct Checkpoints {
  /// The path of the folder; see CheckpointWriter.
  std::string folder;
  /// A checkpoint is written after each step whose number, counted over all fits of the trainer, is a multiple of this
  /// number, and at the end of the fit. Training waits until the disk has it.
  std::int64_t every_steps = 1'000;
  /// The number of checkpoints that are kept: the newest ones.
  std::int64_t keep_last = 3;
  /// The effect of a checkpoint that cannot be written. True: the fit ends with the Error. False: a line on stderr says
  /// so, and training goes on.
  bool stop_on_failure = false;
  /// Texts of the user, by name, which each checkpoint has; see Checkpoint::texts.
  std::map<std::string, std::string> texts = {};
};

/// Throws Error if an option is out of range.
void check_checkpoints(const Checkpoints& options);

}  // namespace troupe
