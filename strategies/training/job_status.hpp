#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "troupe/strategies/training/metrics.hpp"

namespace troupe {

/// A status message of rank 0 to the expendable processes of its job. The job continues without expendable processes if
/// they are lost. Each field is set in messages of one kind alone; its comment begins with the name of this kind.
struct JobStatus {
  enum class Kind : std::uint8_t {
    training,   ///< a plan that trains was spawned
    trained,    ///< a fit is over
    evaluated,  ///< an evaluation is over
  };
  Kind kind = Kind::training;
  std::uint64_t generation = 0;      ///< training: SpawnedPlan::generation()
  std::uint64_t plan_hash = 0;       ///< training: hash of the plan
  std::uint64_t data_hash = 0;       ///< training: hash of Dataset::content()
  std::int64_t steps = 0, rows = 0;  ///< trained: see FitResult
  double seconds = 0.0;              ///< trained: see FitResult
  bool stopped = false;              ///< trained: see FitResult
  Metrics metrics = {};              ///< evaluated: the result

  std::vector<std::byte> encode() const;
  /// Throws Error if the bytes are no status message.
  static JobStatus decode(std::span<const std::byte> bytes);
};

}  // namespace troupe
