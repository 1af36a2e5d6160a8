#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "troupe/ops/core/tensor.hpp"
#include "troupe/transport/work.hpp"

namespace troupe {

/// The part of one rank in a collective that a conductor has begun. A conductor is an actor that begins collectives for
/// the ranks of its process.
struct RankWork {
  /// The work of the collective. Null once the rank has completed its part, has failed in it or skips it.
  std::shared_ptr<Work> work = nullptr;
  /// The index of the rank in Communicator::local() of the Communicator object that the rank uses. Always 0 on the
  /// host, where each rank has an object of its own.
  std::size_t local = 0;
  /// The result of a collective that does not work in place; null if the collective works in place. The result cannot
  /// be written to the output of the rank's actor, which has not taken a slot yet: the actor copies it there later. The
  /// next collective that reuses this object overwrites the result.
  Tensor output = {};
};

/// A collective that a conductor has begun. It travels on the edge from the conductor to the actors of the ranks of the
/// conductor's process. Each actor uses the element of its own rank until it returns the slot of the edge.
struct CollectiveStart {
  explicit CollectiveStart(std::size_t count) : ranks(count) {}

  std::vector<RankWork> ranks;
};

}  // namespace troupe
