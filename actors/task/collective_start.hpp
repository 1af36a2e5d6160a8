#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "troupe/ops/core/tensor.hpp"
#include "troupe/transport/work.hpp"

namespace troupe {

/// The collective that a conductor has begun, for one rank of its process.
struct RankWork {
  /// Null once the rank has completed it or given it up.
  std::shared_ptr<Work> work = nullptr;
  /// The number of the rank among those of its communicator in this process.
  std::size_t local = 0;
  /// The result of a collective that does not work in place: the output's own place is that of an actor which has not
  /// fired yet. The next collective that travels in this object fills it again.
  Tensor output = {};
};

/// A collective on its way from the conductor, which has begun it, to the actors of the ranks of its process: what the
/// edge between them carries. An actor uses the element of its own rank, until it returns the slot of the edge.
struct CollectiveStart {
  explicit CollectiveStart(std::size_t count) : ranks(count) {}

  std::vector<RankWork> ranks;
};

}  // namespace troupe
