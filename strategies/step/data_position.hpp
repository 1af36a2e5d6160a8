#pragma once

#include <cstdint>

#include "troupe/ops/pipeline/position.hpp"

namespace troupe {

/// The position of a source of batches: behind the first `batch` batches of an epoch.
struct DataPosition {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;
  Position position = {};

  bool operator==(const DataPosition&) const = default;
};

}  // namespace troupe
