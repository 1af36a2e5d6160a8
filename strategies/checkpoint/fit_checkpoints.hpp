#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "troupe/strategies/checkpoint/checkpoint_writer.hpp"

namespace troupe {

/// The checkpoints that a fit writes; see FitOptions::checkpoints.
struct Checkpoints {
  /// See CheckpointWriter.
  std::filesystem::path folder;
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

/// Writes the checkpoints of a fit. Used on the thread that drives the fit.
class FitCheckpoints {
 public:
  /// `step` is the number of steps before the fit. If `writes` is false, as in processes of other ranks than 0, nothing
  /// is written. Throws Error if the folder cannot be used, or has a checkpoint of a later step than `step`.
  FitCheckpoints(Checkpoints options, std::shared_ptr<const ParameterStore> store, std::int64_t step, bool writes);

  /// The number of steps after step `step` until a checkpoint is due, at least 1.
  std::int64_t steps_left(std::int64_t step) const;
  /// Whether a checkpoint of `step` is due and not written yet.
  bool is_due(std::int64_t step) const;
  /// Writes the checkpoint of the store, which is at `step`, unless it has been written. No run may use the store.
  void write(std::int64_t step);

 private:
  Checkpoints options_;
  std::shared_ptr<const ParameterStore> store_;
  std::int64_t written_;
  std::optional<CheckpointWriter> writer_;
};

}  // namespace troupe
