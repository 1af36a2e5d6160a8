#pragma once

#include <cstdint>

#include "troupe/ops/core/hash.hpp"
#include "troupe/ops/graph/print.hpp"

namespace troupe {

/// The same for updates with the same ops, attributes and parameters: an attribute of a plan's actor.
inline std::int64_t identity_of_update(const Graph& update) {
  Hash hash;
  hash.add(to_text(update));
  return static_cast<std::int64_t>(hash.digest());
}

}  // namespace troupe
