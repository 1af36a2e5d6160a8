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
  /// Makes the folder unless it exists, and removes what an interrupted writer has left. Throws Error if the folder
  /// cannot be made or written, or another writer uses it.
  explicit CheckpointWriter(std::filesystem::path folder);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Writes a checkpoint, in place of another one of the same step. Returns once the disk has it. Throws Error that
  /// names the file and the cause if it cannot be written; the other checkpoints stay.
  void write(const Checkpoint& checkpoint);
  /// Removes all checkpoints but the newest `count`, which must be at least 1.
  void keep_newest(std::int64_t count);

 private:
  class Lock;

  std::filesystem::path folder_;
  std::unique_ptr<Lock> lock_;
};

}  // namespace troupe
