#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace troupe {

/// A replica's copy of a parameter, or of optimizer state, in the store.
struct ParameterRef {
  std::string name;
  int replica = 0;

  auto operator<=>(const ParameterRef&) const = default;
};

/// Rows of a parameter, along its first axis.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;

  std::int64_t end() const { return first + count; }
  bool overlaps(const RowRange& other) const { return first < other.end() && other.first < end(); }
  auto operator<=>(const RowRange&) const = default;
};

}  // namespace troupe
