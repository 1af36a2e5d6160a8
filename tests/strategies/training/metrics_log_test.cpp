#include "troupe/strategies/training/metrics_log.hpp"

#include <array>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/task/spawn_context.hpp"
#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"
#include "troupe/tests/transport/membership/threads_as_processes.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Two metrics: the accuracy, per row, and one with its own count.
MetricsLog log_of(int replicas, const ReportForm& form = {}) {
  auto spec = small_spec();
  spec.metrics = {accuracy(), {"weighted", [](const Outputs& out, const Inputs&) -> MetricSums {
                                 const auto sum = reduce_sum(out[""], std::vector<std::int64_t>{0, 1});
                                 return {sum, sum};
                               }}};
  return {replicas, spec, small_dataset(1).fields(), form};
}

void report(Task& sink, std::int64_t step, float loss, std::int64_t correct, float weighted, float weight,
            std::int64_t rows) {
  const Tensor info(BatchInfo::info().shape, BatchInfo::info().dtype);
  BatchInfo{rows, 9, 0, step}.write(info);
  const std::vector<Tensor> inputs{Tensor::scalar(loss), Tensor::scalar(correct), Tensor::scalar(weighted),
                                   Tensor::scalar(weight), info};
  const auto stream = backend_of(DeviceType::cpu).make_stream({});
  sink.fire({.inputs = inputs, .step = step, .context = {*stream}});
}

}  // namespace

TEST_CASE("a strategy that gives the sink other inputs than were asked for is told so") {
  auto log = log_of(1);
  SpawnContext context;
  const auto sink = log.sink(NonFiniteLoss::stop)(PlanActor{}, context);
  const std::vector<Tensor> inputs{Tensor::scalar(1.0F)};
  const auto stream = backend_of(DeviceType::cpu).make_stream({});
  CHECK_THROWS_WITH(sink->fire({.inputs = inputs, .context = {*stream}}),
                    Contains("gives the sink 1 inputs, not 5") && Contains("then the batch info"));
}

TEST_CASE("steps are put together from all replicas, in order, as soon as all have reported") {
  auto log = log_of(2);
  CHECK(log.sink_inputs() ==
        std::vector<std::string>{"loss", "metric/accuracy/sum", "metric/weighted/sum", "metric/weighted/count"});
  SpawnContext context;
  const auto sink = log.sink(NonFiniteLoss::stop);
  const auto first = sink({.replica = 0}, context), second = sink({.replica = 1}, context);
  report(*first, 5, 0.25F, 1, 6.0F, 2.0F, 2);
  report(*first, 6, 0.5F, 2, 1.0F, 1.0F, 2);
  CHECK(log.take().empty());
  report(*second, 5, 0.75F, 0, 4.0F, 3.0F, 1);
  const auto steps = log.take();
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].step == 5);
  CHECK(steps[0].loss == 1.0);
  CHECK(steps[0].rows == 3);
  CHECK(steps[0].values["accuracy"] == Approx(1.0 / 3.0));
  CHECK(steps[0].values["weighted"] == 2.0);
  report(*second, 6, 0.0F, 1, 0.0F, 0.0F, 1);
  CHECK(log.take().size() == 1);
  CHECK(log.take().empty());
}

TEST_CASE("after a failed run, the parts that replicas have left out are no parts of the last steps") {
  auto log = log_of(3, {.by_replica = true});
  SpawnContext context;
  const auto sink = log.sink(NonFiniteLoss::stop);
  log.begin(5);
  for (std::int64_t step = 5; step < 8; ++step) report(*sink({.replica = 1}, context), step, 0.5F, 2, 1.0F, 1.0F, 4);
  report(*sink({.replica = 0}, context), 5, 0.25F, 1, 6.0F, 2.0F, 2);
  report(*sink({.replica = 2}, context), 5, 0.25F, 1, 6.0F, 2.0F, 3);
  report(*sink({.replica = 2}, context), 6, 0.25F, 1, 6.0F, 2.0F, 3);
  const bool failed = GENERATE(false, true);
  log.end_run({}, failed);
  const auto steps = log.take();
  REQUIRE(steps.size() == (failed ? 3 : 1));
  CHECK(steps[0].rows == 9);
  CHECK(steps[0].loss == 1.0);
  if (!failed) return;
  CHECK(steps[1].step == 6);
  CHECK(steps[1].rows == 7);
  CHECK(steps[1].loss == Approx(0.75 * 9.0 / 7.0));
  CHECK(steps[2].step == 7);
  CHECK(steps[2].rows == 4);
  CHECK(steps[2].loss == Approx(0.5 * 9.0 / 4.0));
  CHECK(steps[2].values["accuracy"] == 0.5);
}

TEST_CASE("a process other than rank 0 names its own replica whose report is missing, not one of another process") {
  const auto address = new_address();
  std::array<std::string, 2> missing;
  const auto ends = on_processes(2, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, 2, address));
    auto log = log_of(3);
    log.exchange_with(std::make_unique<MetricsExchange>(*cluster, 1), {rank == 0, rank == 1, rank == 1});
    log.begin(0);
    SpawnContext context;
    if (rank == 1) report(*log.sink(NonFiniteLoss::stop)({.replica = 1}, context), 0, 0.5F, 1, 1.0F, 1.0F, 1);
    log.end_run();
    log.take();
    while (!log.complete()) log.take(std::chrono::milliseconds(10));
    missing[static_cast<std::size_t>(rank)] = log.missing();
    cluster->leave();
  });
  CHECK(ends == Ends(2));
  CHECK(missing[0].empty());
  CHECK(missing[1] == "replica 2 has not reported step 0, which replica 1 has");
}

TEST_CASE("a list of the replicas that report has each replica once") {
  const auto log = [](std::vector<int> reporting) {
    MetricsLog(2, small_spec(), small_dataset(1).fields(), {.reporting = std::move(reporting)});
  };
  CHECK_NOTHROW(log({1, 0}));
  CHECK_THROWS_WITH(log({0, 2}), Contains("[strategy] replica 2 cannot report: there are 2"));
  CHECK_THROWS_WITH(log({0, 1, 0}), Contains("[strategy] replica 0 reports twice"));
}

TEST_CASE("reports of a replica that is far ahead are kept in order, tables too") {
  auto spec = small_spec();
  spec.metrics = {confusion_matrix()};
  MetricsLog log(2, spec, small_dataset(1).fields());
  SpawnContext context;
  const auto sink = log.sink(NonFiniteLoss::stop);
  const auto first = sink({.replica = 0}, context), second = sink({.replica = 1}, context);
  const auto stream = backend_of(DeviceType::cpu).make_stream({});
  const auto report = [&](Task& to, std::int64_t step, std::int64_t first_number) {
    const Tensor info(BatchInfo::info().shape, BatchInfo::info().dtype);
    BatchInfo{1, 2, 0, step}.write(info);
    const auto table = Tensor::from<std::int64_t>(Shape{2, 2}, std::vector<std::int64_t>{first_number, 1, 2, 3});
    const std::vector<Tensor> inputs{Tensor::scalar(1.0F), table, Tensor::scalar(1.0F), info};
    to.fire({.inputs = std::span(inputs).first(log.sink_inputs().size() + 1), .step = step, .context = {*stream}});
  };
  // By turns the first one is up to 700 steps ahead, and everything is taken: the memory is used again and has to grow.
  std::int64_t of_first = 0, of_second = 0, taken = 0;
  for (const std::int64_t ahead : {3, 200, 10, 700, 0, 300}) {
    for (; of_first < of_second + ahead; ++of_first) report(*first, of_first, of_first);
    for (const auto until = of_first; of_second < until - ahead / 2; ++of_second) report(*second, of_second, 1);
    for (const auto& step : log.take()) {
      REQUIRE(step.step == taken);
      REQUIRE(step.loss == 2.0);
      REQUIRE(step.values.table("confusion_matrix").numbers ==
              std::vector<double>{static_cast<double>(taken + 1), 2.0, 4.0, 6.0});
      ++taken;
    }
    CHECK(taken == of_second);
  }
}
