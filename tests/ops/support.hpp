#pragma once

#include <string>
#include <string_view>

#include "troupe/ops/core/error.hpp"

namespace troupe::ops_test {

/// The text of the Error that `f` throws; empty if it throws none.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace troupe::ops_test
