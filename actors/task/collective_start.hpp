#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "troupe/ops/core/tensor.hpp"
#include "troupe/transport/work.hpp"

namespace troupe {

/// The part of one rank of a process in a collective that the conductor has begun.
struct RankWork {
  /// Null once the rank has completed it or given it up.
  std::shared_ptr<Work> work = nullptr;
  /// The number of the rank among those of its communicator in this process.
  std::size_t local = 0;
  /// The result of a collective that does not work in place. The output in the plan belongs to the rank's actor, which
  /// has not fired yet. The next collective that this object carries overwrites the result.
  Tensor output = {};
};

/// A collective that the conductor has begun, on the edge to the actors of the ranks of its process. An actor uses the
/// element of its own rank until it returns the slot of the edge.
struct CollectiveStart {
  explicit CollectiveStart(std::size_t count) : ranks(count) {}

  std::vector<RankWork> ranks;
};

}  // namespace troupe
