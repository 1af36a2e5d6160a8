#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace troupe {

/// The name of a parameter, or of optimizer state, and the number of the replica whose copy in the parameter store is
/// meant.
struct ParameterRef {
  std::string name;
  int replica = 0;

  auto operator<=>(const ParameterRef&) const = default;
};

/// A range of rows of a parameter: `count` entries along its first axis, from number `first` on.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;

  std::int64_t end() const { return first + count; }
  bool overlaps(const RowRange& other) const { return first < other.end() && other.first < end(); }
  auto operator<=>(const RowRange&) const = default;
};

}  // namespace troupe
