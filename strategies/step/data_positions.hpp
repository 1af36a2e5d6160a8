#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "troupe/strategies/step/data_position.hpp"

namespace troupe {

/// The newest positions of a source of batches. The actor of the source adds them; checkpoints store one of them, and a
/// later actor continues at one. Thread-safe.
class DataPositions {
 public:
  /// The number of positions that are kept. A source is fewer batches ahead of the training.
  static constexpr std::size_t kKept = 64;

  void add(DataPosition position);
  /// The position behind the first `batch` batches of an epoch; nothing if it is not kept.
  std::optional<DataPosition> at(std::int64_t epoch, std::int64_t batch) const;

 private:
  mutable std::mutex mutex_;
  std::deque<DataPosition> positions_;  // the oldest first
};

}  // namespace troupe
