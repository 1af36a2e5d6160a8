#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "troupe/strategies/checkpoint/checkpoint.hpp"

namespace troupe {

/// Writes checkpoints to a folder, which no other process may write to meanwhile; see checkpoint_folder.hpp for its
/// form. Used on one thread at a time.
class CheckpointWriter {
 public:
  /// Makes the folder unless it exists, and completes or removes what an interrupted writer has left. Throws Error if
  /// the folder cannot be made or written, or another writer uses it.
  explicit CheckpointWriter(const std::filesystem::path& folder);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Writes a checkpoint, in place of another one of the same step. Returns once the disk has it. Throws Error that
  /// names the file and the cause if it cannot be written; the other checkpoints stay. Throws Error, too, if there is
  /// one of a later step: a training that goes on from an earlier one calls discard_after() first.
  void write(const Checkpoint& checkpoint);
  /// Removes the checkpoints of all later steps. Throws Error if one cannot be removed.
  void discard_after(std::int64_t step);
  /// Removes all checkpoints but the newest `count`. Throws Error if `count` is below 1 or one cannot be removed.
  void keep_newest(std::int64_t count);

 private:
  class Lock;

  void finish_interrupted();
  void remove(std::int64_t step);

  std::filesystem::path folder_;
  std::unique_ptr<Lock> lock_;
};

}  // namespace troupe
