#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "troupe/ops/graph/print.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/cases/case_runner.hpp"
#include "troupe/tests/ops/graph/run_graph.hpp"

namespace troupe::ops_test {

using Build = void (*)(GraphBuilder&);
using Axes = std::vector<std::int64_t>;

inline Graph graph_of(Build build) {
  GraphBuilder builder;
  build(builder);
  return std::move(builder).build();
}

/// Checks that the graph after a pass has the expected ops, and that all results keep their bits for several numbers of
/// rows.
inline void check_pass(Graph (*pass)(const Graph&), Build build, const Ops& expected, Device device = {}) {
  const auto before = graph_of(build);
  const auto after = pass(before);
  INFO(to_text(after));
  CHECK(ops_of(after) == expected);
  for (const std::int64_t rows : {0, 1, 9})
    CHECK(std::ranges::equal(run_graph(after, rows, device), run_graph(before, rows, device), same_bits));
}

}  // namespace troupe::ops_test
