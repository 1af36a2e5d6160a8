#include "troupe/actors/plan/plan.hpp"

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/plan/plan_text.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("an output has one edge, which all its readers share") {
  Plan plan;
  const auto a = plan.add(function_actor("a", 1, {}));
  const auto b = plan.add(function_actor("b", 0, {}));
  const auto c = plan.add(function_actor("c", 0, {}));
  plan.connect(a, 0, b, 3);
  plan.connect(a, 0, c);
  REQUIRE(plan.edges.size() == 1);
  CHECK(plan.edges[0].capacity == 3);
  CHECK(plan.edges[0].consumers.size() == 2);
}

TEST_CASE("capacities and tokens that cannot be are refused") {
  Plan plan;
  const auto a = plan.add(function_actor("a", 1, {}));
  CHECK_THROWS_AS(plan.edge_of(a, 0, 0), Error);
  CHECK_THROWS_AS(plan.edge_of(a, 0, 1, 2), Error);
  CHECK_THROWS_AS(plan.edge_of(a, 0, 1, -1), Error);
}

TEST_CASE("a plan prints its actors, edges and segments") {
  std::vector<float> record;
  const auto plan = fuse(chain_plan(1, 1, record, 2));
  const auto text = to_text(plan);
  CHECK_THAT(text, Contains("source source on cpu:0 replica 0"));
  CHECK_THAT(text, Contains("add0: float32[2], capacity 2, tokens 0 -> sink[0]"));
  CHECK_THAT(text, Contains("segment 'source' to 'sink', executor 0: source add0 sink"));
  CHECK_THAT(to_dot(plan), Contains("a0 -> a1") && Contains("subgraph cluster_0"));
}
