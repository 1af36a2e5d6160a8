#pragma once

// Catch2 3 has another header than Catch2 2 and keeps Approx in its namespace.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
