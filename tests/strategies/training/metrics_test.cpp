#include "troupe/strategies/training/metrics.hpp"

#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

void report(Task& sink, std::int64_t step, float loss, std::int64_t correct, std::int64_t rows) {
  const std::vector<Tensor> inputs{Tensor::scalar(loss), Tensor::scalar(correct),
                                   Tensor::from<std::int64_t>({4}, std::vector<std::int64_t>{rows, 9, 0, step})};
  sink.fire({.inputs = inputs, .step = step});
}

}  // namespace

TEST_CASE("steps are put together from all replicas, in order, as soon as all have reported") {
  MetricsLog log(2);
  const auto first = log.make_sink(0)(), second = log.make_sink(1)();
  report(*first, 5, 0.25F, 1, 2);
  report(*first, 6, 0.5F, 2, 2);
  CHECK(log.take().empty());
  report(*second, 5, 0.75F, 0, 1);
  const auto steps = log.take();
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].step == 5);
  CHECK(steps[0].loss == 1.0);
  CHECK(steps[0].correct == 1);
  CHECK(steps[0].rows == 3);
  report(*second, 6, 0.0F, 1, 1);
  CHECK(log.take().size() == 1);
  CHECK(log.take().empty());
}

TEST_CASE("means weigh every row alike") {
  MetricsSum sum;
  sum.add({.step = 0, .loss = 1.0, .correct = 3, .rows = 3});
  sum.add({.step = 1, .loss = 5.0, .correct = 0, .rows = 1});
  CHECK(sum.result().steps == 2);
  CHECK(sum.result().rows == 4);
  CHECK(sum.result().loss == Approx(2.0));
  CHECK(sum.result().accuracy == Approx(0.75));
  CHECK(MetricsSum().result().loss == 0.0);
}
