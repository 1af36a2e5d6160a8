#pragma once

#include <string>

// Catch2 3 has another header than Catch2 2, keeps Approx in its namespace, and calls the search for a text otherwise.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
inline auto Contains(const std::string& text) {
  return Catch::Matchers::ContainsSubstring(text);
}
#else
#include <catch2/catch.hpp>
using Catch::Matchers::Contains;
#endif
