// Evaluations and predictions of data with samples that cannot be used.

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/library/gather.hpp"
#include "troupe/strategies/multi_worker_mirrored.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/strategies/training/invalid_samples.hpp"
#include "troupe/tests/transport/membership/threads_as_processes.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

std::vector<std::unique_ptr<Strategy>> some_strategies() {
  std::vector<std::unique_ptr<Strategy>> all;
  all.push_back(std::make_unique<OneDevice>());
  all.push_back(std::make_unique<Mirrored>(cpu_devices(3)));
  // The workers train batches of their own, but share those of an evaluation.
  all.push_back(std::make_unique<ParameterServer>(places_of(cpu_devices(2)), places_of(cpu_devices(1)),
                                                  ConsistencyRule::asynchronous(2)));
  return all;
}

/// The row of the InvalidSample that the function throws, whose text must have `text`.
std::int64_t row_of_error(const std::function<void()>& function, const std::string& text) {
  try {
    function();
  } catch (const InvalidSample& invalid) {
    CHECK_THAT(invalid.what(), Contains(text));
    return invalid.sample();
  }
  FAIL("no sample was refused");
  return InvalidSample::kUnknown;
}

}  // namespace

TEST_CASE("an evaluation names the row of a bad label in the data set") {
  auto runtime = scheduled_runtime(3, 3);
  for (const auto& strategy : some_strategies())
    for (const std::int64_t bad : {0, 13, 47}) {
      auto trainer = small_trainer(runtime, *strategy, {.seed = 11});
      const auto data = rows_without({}, {bad});
      const auto text = "row " + std::to_string(bad) + " of the data set";
      CHECK(row_of_error([&] { trainer.evaluate(data); }, text) == bad);
      CHECK(row_of_error([&] { trainer.evaluate(data.shuffle(kSampleCount)); }, text) == bad);
      CHECK_NOTHROW(trainer.evaluate(rows_without({})));
    }
}

TEST_CASE("an evaluation and a prediction name the row of a record that cannot be read") {
  auto runtime = scheduled_runtime(3, 3);
  for (const auto& strategy : some_strategies()) {
    auto trainer = small_trainer(runtime, *strategy);
    const std::string text = "record 21 is damaged";
    CHECK(row_of_error([&] { trainer.evaluate(damaged_rows({21})); }, text) == 21);
    CHECK(row_of_error([&] { trainer.predict(damaged_rows({21})); }, text) == 21);
  }
}

TEST_CASE("a prediction names the row of a bad index in the data set") {
  auto runtime = scheduled_runtime(3, 3);
  const auto model = [](const Inputs& in) -> Outputs {
    return gather(in.builder().parameter("table", {4, 1}, Initializer::constant(2.0)), in["index"]);
  };
  const std::vector<std::int32_t> indices{0, 1, 2, 3, 0, 1, 99, 3};
  const auto data = Dataset::from_arrays({{"index", Tensor::from<std::int32_t>({8}, indices)}}).batch(5);
  for (const auto& strategy : some_strategies()) {
    Trainer trainer(runtime, *strategy, model, Sgd{.lr = 0.1}, MeanSquaredError{});
    CHECK(row_of_error([&] { trainer.predict(data.shuffle(8)); }, "row 6 of the data set") == 6);
  }
}

TEST_CASE("an evaluation of several processes names the row of a bad label in all of them") {
  const auto address = new_address();
  std::vector<std::int64_t> rows(2);
  const auto ends = on_processes(2, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, 2, address));
    Runtime runtime({.workers = 1, .cpu_devices = 2});
    const MultiWorkerMirrored strategy(*cluster, cpu_devices(1));
    auto trainer = small_trainer(runtime, strategy, {.seed = 3, .cluster = cluster});
    try {
      trainer.evaluate(rows_without({}, {13}));
    } catch (const InvalidSample& invalid) {
      rows[static_cast<std::size_t>(rank)] = invalid.sample();
    }
    // The processes go on together.
    trainer.evaluate(rows_without({}));
    cluster->leave();
  });
  CHECK(ends == Ends(2));
  CHECK(rows == std::vector<std::int64_t>{13, 13});
}
