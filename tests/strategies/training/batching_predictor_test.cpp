#include "troupe/strategies/training/batching_predictor.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/library/gather.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

/// Some rows of the small data set, as a request.
Predictor::Arrays rows_from(std::int64_t first, std::int64_t count) {
  const auto part = data_of_50().skip(first).take(count);
  return {{part.fields()[0].name, part.array(part.fields()[0].name)}};
}

std::vector<float> floats_of(const Tensor& tensor) {
  return {tensor.data<float>().begin(), tensor.data<float>().end()};
}

struct Served {
  Runtime runtime{{.workers = 2, .cpu_devices = 1}};
  OneDevice strategy;
  Trainer trainer = small_trainer(runtime, strategy, {.seed = 3});
  Predictor alone{trainer, data_of_50().fields()};
};

}  // namespace

TEST_CASE("requests of many threads are answered as alone, many at a time") {
  Served served;
  served.trainer.fit(data_of_50());
  BatchingPredictor batching(served.runtime, served.trainer, data_of_50().fields(),
                             {.most_rows = 8, .longest_wait = 1h, .actors = 2});
  std::vector<std::vector<float>> want;
  for (std::int64_t row = 0; row < 40; ++row) want.push_back(floats_of(served.alone.predict(rows_from(row, 1))));
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread)
      threads.emplace_back([&, thread] {
        std::vector<std::future<Tensor>> answers;
        for (std::int64_t row = thread; row < 40; row += 4) answers.push_back(batching.predict(rows_from(row, 1)));
        std::int64_t row = thread;
        for (auto& answer : answers) {
          const auto got = floats_of(answer.get());
          for (std::size_t i = 0; i < got.size(); ++i)
            if (got[i] != Approx(want[static_cast<std::size_t>(row)][i]).margin(1e-6)) ++wrong;
          row += 4;
        }
      });
  }
  CHECK(wrong == 0);
  // No batch is sent before it is full.
  CHECK(batching.batches() == 5);
}

TEST_CASE("one request waits no longer than the limit, and may have many rows or none") {
  Served served;
  BatchingPredictor batching(served.runtime, served.trainer, data_of_50().fields(),
                             {.most_rows = 4, .longest_wait = 1ms});
  for (const std::int64_t count : {1, 3, 4, 9, 0}) {
    auto answer = batching.predict(rows_from(0, count));
    REQUIRE(answer.wait_for(patience()) == std::future_status::ready);
    const auto got = floats_of(answer.get()), want = floats_of(served.alone.predict(rows_from(0, count)));
    REQUIRE(got.size() == want.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(want[i]).margin(1e-6));
  }
}

TEST_CASE("a request behind one that is a whole batch waits no longer than the limit either") {
  Served served;
  BatchingPredictor batching(served.runtime, served.trainer, data_of_50().fields(),
                             {.most_rows = 4, .longest_wait = 1ms});
  // Most often the second one comes before the first is answered.
  for (int i = 0; i < 50; ++i) {
    auto whole = batching.predict(rows_from(0, 4)), behind = batching.predict(rows_from(4, 1));
    REQUIRE(whole.wait_for(patience()) == std::future_status::ready);
    REQUIRE(behind.wait_for(patience()) == std::future_status::ready);
  }
}

TEST_CASE("what was asked before the end is answered") {
  Served served;
  std::future<Tensor> answer;
  {
    BatchingPredictor batching(served.runtime, served.trainer, data_of_50().fields(),
                               {.most_rows = 100, .longest_wait = 1h});
    answer = batching.predict(rows_from(0, 2));
  }
  REQUIRE(answer.wait_for(patience()) == std::future_status::ready);
  CHECK(answer.get().shape()[0] == 2);
}

TEST_CASE("bad requests and options are errors") {
  Served served;
  const auto& fields = data_of_50().fields();
  const auto made_with = [&](BatchingOptions options) {
    BatchingPredictor(served.runtime, served.trainer, fields, std::move(options));
  };
  CHECK_THROWS_WITH(made_with({.most_rows = 0}), Contains("at least one row"));
  CHECK_THROWS_WITH(made_with({.actors = 0}), Contains("at least one actor"));
  CHECK_THROWS_WITH(made_with({.output = "nothing"}), Contains("no output 'nothing'"));
  // The sum over the rows of a batch would be one over the rows of several requests.
  const Model with_sum = [&](const Inputs& in) -> Outputs {
    const auto x = in[fields[0].name];
    return {{"y", Dense{2}(Flatten{}(x))}, {"sum", reduce_sum(Flatten{}(x), {0})}};
  };
  Trainer trainer(served.runtime, served.strategy, with_sum, Sgd{.lr = 0.1}, SoftmaxCrossEntropy{.logits = "y"});
  CHECK_THROWS_WITH(BatchingPredictor(served.runtime, trainer, fields, {.output = "sum"}),
                    Contains("not one row per sample"));
  BatchingPredictor batching(served.runtime, served.trainer, fields);
  CHECK_THROWS_WITH(batching.predict({}), Contains("is missing"));
  CHECK_THROWS_WITH(batching.predict({{fields[0].name, Tensor({2, 1}, DType::float32)}}), Contains("was given"));
}

TEST_CASE("a request with a row that cannot be used fails alone, and its error names its own row") {
  const Runtime runtime({.workers = 2, .cpu_devices = 1});
  const OneDevice strategy;
  const auto model = [](const Inputs& in) -> Outputs {
    return gather(in.builder().parameter("table", {4, 1}, Initializer::constant(2.0)), in["index"]);
  };
  const auto request = [](const std::vector<std::int32_t>& rows) {
    return Predictor::Arrays{{"index", Tensor::from<std::int32_t>({std::ssize(rows)}, rows)}};
  };
  const std::vector<Field> fields{{"index", {Shape{kBatch}, DType::int32}}};
  const Trainer trainer(runtime, strategy, model, Sgd{.lr = 0.1}, MeanSquaredError{});
  BatchingPredictor batching(runtime, trainer, fields, {.most_rows = 6, .longest_wait = 1h});
  std::vector<std::future<Tensor>> answers;
  for (const auto& rows : std::vector<std::vector<std::int32_t>>{{1}, {0, 99}, {2}, {-1}, {3}})
    answers.push_back(batching.predict(request(rows)));
  for (const auto& answer : answers) REQUIRE(answer.wait_for(patience()) == std::future_status::ready);
  for (const std::size_t good : {0, 2, 4}) CHECK(answers[good].get().item<float>() == 2.0F);
  const auto row_of_error = [&](std::size_t bad) {
    try {
      answers[bad].get();
      return InvalidSample::kUnknown;
    } catch (const InvalidSample& invalid) {
      CHECK_THAT(invalid.what(), Contains("of row " + std::to_string(invalid.row())));
      return invalid.row();
    }
  };
  CHECK(row_of_error(1) == 1);
  CHECK(row_of_error(3) == 0);
  CHECK(batching.batches() == 1);
}

// ThreadSanitizer supports no new threads in the child of a process with threads.
#if !defined(__SANITIZE_THREAD__)
namespace {

/// Limits the memory of this process to `bytes` more than it has.
void limit_memory(rlim_t bytes) {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlimit limit{pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + bytes, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &limit);
}

/// Makes a BatchingPredictor for whose threads there is no memory, and destroys its runtime. Returns whether the
/// constructor has named the threads.
bool is_refused_for_threads() {
  Served served;
  limit_memory(200'000'000);
  try {
    BatchingPredictor(served.runtime, served.trainer, data_of_50().fields(), {.actors = 256});
  } catch (const Error& error) {
    return std::string(error.what()).find("no further thread can be made") != std::string::npos;
  }
  return false;
}

}  // namespace

TEST_CASE("a predictor for whose threads there is no memory is an error, after which the runtime ends") {
  const auto child = fork();
  if (child == 0) {
    // A process that does not end is killed, so this test fails and does not hang.
    alarm(static_cast<unsigned>(std::chrono::duration_cast<std::chrono::seconds>(patience()).count()));
    _exit(is_refused_for_threads() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
#endif
