#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "troupe/strategies/checkpoint/checkpoint_writer.hpp"
#include "troupe/strategies/checkpoint/checkpoints.hpp"
#include "troupe/strategies/step/data_positions.hpp"

namespace troupe {

/// Writes the checkpoints of a fit. Used on the thread that drives the fit.
class FitCheckpoints {
 public:
  /// `step` is the number of steps before the fit. If `writes` is false, as in processes of other ranks than 0, nothing
  /// is written. Throws Error if the folder cannot be used, or has a checkpoint of a later step than `step`.
  FitCheckpoints(Checkpoints options, std::shared_ptr<const ParameterStore> store, std::int64_t step, bool writes);

  /// Makes the checkpoints have the position of the source of batches with which `trainer` trains, under this name.
  void add_source(std::string name, std::shared_ptr<const DataPositions> positions, std::string trainer);

  /// The number of steps after step `step` until a checkpoint is due, at least 1.
  std::int64_t steps_left(std::int64_t step) const;
  /// Whether a checkpoint of `step` is due and not written yet.
  bool is_due(std::int64_t step) const;
  /// Writes the checkpoint of the store, which is at `step`, unless it has been written. No run may use the store.
  void write(std::int64_t step);

 private:
  struct Source {
    std::string name;
    std::shared_ptr<const DataPositions> positions;
    std::string trainer;
  };

  Checkpoint checkpoint() const;

  Checkpoints options_;
  std::shared_ptr<const ParameterStore> store_;
  std::int64_t written_;
  std::optional<CheckpointWriter> writer_;
  std::optional<Source> source_;
};

}  // namespace troupe
