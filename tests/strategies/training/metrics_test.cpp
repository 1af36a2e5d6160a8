#include "troupe/strategies/training/metrics.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

TEST_CASE("means weigh every row alike, other metrics by their own counts") {
  MetricsSum sum;
  sum.add({.step = 0, .loss = 1.0, .rows = 3, .values = {{{"accuracy", 3, 3}, {"weighted", 1, 10}}}});
  sum.add({.step = 1, .loss = 5.0, .rows = 1, .values = {{{"accuracy", 0, 1}, {"weighted", 4, 10}}}});
  const auto result = sum.result();
  CHECK(result.steps == 2);
  CHECK(result.rows == 4);
  CHECK(result.loss == Approx(2.0));
  CHECK(result["accuracy"] == Approx(0.75));
  CHECK(result["weighted"] == Approx(0.25));
  CHECK(MetricsSum().result().loss == 0.0);
  CHECK_THROWS_WITH(result["f1"], Contains("no metric 'f1' among 'accuracy', 'weighted'"));
  CHECK_THROWS_WITH(result.values.table("accuracy"), "[metrics] 'accuracy' is a number, not a table");
  CHECK_THROWS_AS(sum.add({.values = {{{"other", 0, 0}}}}), Error);
}

TEST_CASE("a metric of nothing is 0, not NaN") {
  CHECK(MetricValues({{"accuracy", 0, 0}})["accuracy"] == 0.0);
}
