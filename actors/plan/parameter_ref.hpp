#pragma once

#include <compare>
#include <string>

namespace troupe {

/// A replica's copy of a parameter, or of optimizer state, in the store.
struct ParameterRef {
  std::string name;
  int replica = 0;

  auto operator<=>(const ParameterRef&) const = default;
};

}  // namespace troupe
