#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "troupe/strategies/training/metrics.hpp"

namespace troupe {

/// What the first process of a job tells those without which it could go on: what begins, and what came of it.
struct JobNews {
  enum class Kind : std::uint8_t {
    training,   ///< a plan that trains has been spawned
    trained,    ///< a fit is over
    evaluated,  ///< an evaluation is over
  };
  Kind kind = Kind::training;
  std::uint64_t generation = 0;      ///< training: of the plan
  std::uint64_t plan_hash = 0;       ///< training
  std::uint64_t data_hash = 0;       ///< training: of the samples
  std::int64_t steps = 0, rows = 0;  ///< trained
  double seconds = 0.0;              ///< trained
  bool stopped = false;              ///< trained
  Metrics metrics = {};              ///< evaluated

  std::vector<std::byte> encode() const;
  /// Throws Error if the bytes are none.
  static JobNews decode(std::span<const std::byte> bytes);
};

}  // namespace troupe
