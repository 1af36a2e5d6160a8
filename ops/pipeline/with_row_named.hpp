#pragma once

#include <exception>
#include <string>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/pipeline/row.hpp"

namespace troupe {

/// Calls `body`, which computes something of a row by a user's function, and returns its result. An exception becomes
/// an Error whose text begins with the transform and names the row.
template <class Body>
auto with_row_named(const char* transform, const Row& row, const Body& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    throw Error(transform, to_string(row.origin) + ": " + error.what());
  }
}

}  // namespace troupe
