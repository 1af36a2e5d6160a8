// Workers of asynchronous servers in processes, which are threads here, of which one dies, returns or is refused.

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/strategies/server_places.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"
#include "troupe/tests/transport/membership/threads_as_processes.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::array kRoles{ProcessRole::chief, ProcessRole::server, ProcessRole::worker, ProcessRole::worker,
                            ProcessRole::worker};

/// A job with a chief, a server and three workers, of which rank 3 is the victim.
class SmallJob {
 public:
  explicit SmallJob(std::int64_t epochs) : epochs_(epochs) {}

  /// One process of it. `stop_requested` is asked while it trains.
  FitResult take_part(int rank, const Model& model, const std::function<bool()>& stop_requested = {},
                      const std::function<void(const EpochMetrics&)>& on_epoch = {}) {
    auto options = options_of(rank, 5, address_);
    options.job.role = kRoles.at(static_cast<std::size_t>(rank));
    options.on_notice = [this](const std::string& line) {
      std::lock_guard lock(mutex_);
      notices_ += line + "\n";
    };
    const auto cluster = join_cluster(options);
    Runtime runtime({.workers = 1, .cpu_devices = 5});
    const auto places = server_places(*cluster, cpu_devices(1), 1);
    ParameterServer strategy(places.workers, places.servers, ConsistencyRule::asynchronous(3));
    strategy.set_forward_places(places.evaluators);
    Trainer trainer(runtime, strategy, model, Sgd{.lr = 0.1}, SoftmaxCrossEntropy{}, {.seed = 3, .cluster = cluster});
    auto result =
        trainer.fit(data_of_50(), {.epochs = epochs_, .on_epoch = on_epoch, .stop_requested = stop_requested});
    trainer.evaluate(data_of_50());
    cluster->leave();
    return result;
  }

  std::string notices() const {
    std::lock_guard lock(mutex_);
    return notices_;
  }

 private:
  const std::int64_t epochs_;
  const std::string address_ = new_address();
  mutable std::mutex mutex_;
  std::string notices_;
};

}  // namespace

TEST_CASE("a worker's process that dies costs its work in flight, and one that comes in its place takes part") {
  SmallJob job(40);
  std::vector<FitResult> fits(5);
  std::atomic<int> epoch{0};
  std::promise<void> back;
  auto is_back = back.get_future();
  std::once_flag told;
  const auto model = small_spec().model;
  const auto ends = on_processes(5, [&](int rank) {
    auto& fit = fits[static_cast<std::size_t>(rank)];
    if (rank == 3) {
      const auto die = [&]() -> bool { return epoch >= 2 ? throw Error("test", "dies") : false; };
      CHECK_THROWS_WITH(job.take_part(3, model, die), Contains("dies"));
      fit = job.take_part(3, model, [&] {
        std::call_once(told, [&] { back.set_value(); });
        return false;
      });
      return;
    }
    fit = job.take_part(rank, model, {}, [&](const EpochMetrics&) {
      if (rank != 0 || ++epoch < 4) return;
      // All workers train the remaining epochs.
      is_back.wait_for(patience());
    });
  });
  CHECK(ends == Ends(5));
  CHECK(is_back.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
  for (const auto& fit : fits) CHECK(fit.steps == 40 * 9);
  CHECK(fits.front().staleness.gradients() == 40 * 9);
  CHECK_THAT(job.notices(), Contains("the others go on") && Contains("rank 3 has come back"));
}

TEST_CASE("a worker that dies at any moment and comes back at once takes part while short epochs go on") {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    CAPTURE(seed);
    SmallJob job(1'000'000);
    const auto model = small_spec().model;
    std::atomic<bool> is_back{false};
    FitResult fit;
    const auto ends = on_processes(5, [&](int rank) {
      if (rank == 3) {
        auto calls_left = static_cast<std::int64_t>(uniform_below(100, 5, seed, 0));
        const auto die = [&]() -> bool { return calls_left-- == 0 ? throw Error("test", "dies") : false; };
        CHECK_THROWS_WITH(job.take_part(3, model, die), Contains("dies"));
        job.take_part(3, model, [&] {
          is_back = true;
          return false;
        });
        return;
      }
      // The fit of rank 0 ends two epochs after the return of the worker.
      int epochs_behind = 0;
      const auto deadline = std::chrono::steady_clock::now() + patience();
      const auto stop = [&] {
        return rank == 0 && (epochs_behind >= 2 || std::chrono::steady_clock::now() > deadline);
      };
      auto result = job.take_part(rank, model, stop, [&](const EpochMetrics&) { epochs_behind += is_back ? 1 : 0; });
      if (rank == 0) fit = std::move(result);
    });
    CHECK(ends == Ends(5));
    CHECK(is_back);
    CHECK(fit.staleness.gradients() == fit.steps);
    CHECK_THAT(job.notices(), Contains("rank 3 has come back"));
  }
}

TEST_CASE("a worker with another model is refused, and the others go on without it") {
  SmallJob job(2);
  std::vector<FitResult> fits(5);
  const auto ends = on_processes(5, [&](int rank) {
    const Sequential other{Flatten{}, Dense{7, relu}, Dense{3}};
    fits[static_cast<std::size_t>(rank)] = job.take_part(rank, rank == 3 ? Model(other) : small_spec().model);
  });
  CHECK_THAT(ends[3], Contains("[trainer] the plan differs from that of rank 0: another model"));
  for (const int rank : {0, 1, 2, 4}) {
    CHECK(ends[static_cast<std::size_t>(rank)] == "");
    CHECK(fits[static_cast<std::size_t>(rank)].steps == 18);
  }
  CHECK(fits.front().staleness.gradients() == 18);
}
