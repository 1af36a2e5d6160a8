#include "troupe/strategies/training/metrics.hpp"

#include <cmath>
#include <limits>

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

TEST_CASE("a metric whose sum or count is NaN is NaN, and a count may be negative") {
  const auto nan = std::nan("");
  for (const auto& entry : {MetricValues::Entry{"m", nan, 2}, {"m", 1, nan}, {"m", nan, nan}, {"m", nan, 0}})
    CHECK(std::isnan(MetricValues({entry})["m"]));
  CHECK(MetricValues({{"m", 6, -2}})["m"] == -3.0);
  CHECK(MetricValues({{"0", 6, -2}, {"1", 5, 0}}).total_loss() == -3.0 + 5.0);
}

TEST_CASE("the text of an infinite magnitude has the weights of the rows") {
  StepMetrics step{.magnitude = std::numeric_limits<float>::infinity()};
  const std::string text = "[gradient] is infinite, or too large for the sum over the replicas";
  CHECK(text_of_not_finite(step) == text);
  step.loss_means = {{{"0", 1, 4e12}}};
  CHECK(text_of_not_finite(step) == text +
                                        "; the weights of its rows have the sum 4e+12, and those of a batch may have "
                                        "1.09951e+12 if gradients are accumulated, else 1.70141e+38");
  step.loss_means = {{{"0", 1, -4}}};
  CHECK(text_of_not_finite(step) ==
        text + "; the weights of its rows have the sum -4, and workers of servers divide by no negative sum");
}
