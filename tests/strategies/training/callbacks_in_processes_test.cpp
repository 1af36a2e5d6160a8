// The callbacks of fits that several processes share: exceptions, stalls, and which process is busy.

#include <atomic>
#include <future>
#include <set>

#include "troupe/ops/core/error.hpp"
#include "troupe/strategies/multi_worker_mirrored.hpp"
#include "troupe/tests/scheduling_probe.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"
#include "troupe/tests/transport/membership/threads_as_processes.hpp"
#include "troupe/transport/timed_out.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// A callback of process 1 does not return while the others wait. Returns what is wrong with their errors.
std::string stall_in_callback(const std::string& callback, std::chrono::milliseconds limit) {
  const auto address = new_address();
  std::promise<void> others_ended;
  const auto have_ended = others_ended.get_future().share();
  std::atomic<int> ended{0};
  const auto ends = on_processes(3, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, 3, address));
    Runtime runtime({.workers = 1, .cpu_devices = 3});
    const MultiWorkerMirrored strategy(*cluster, cpu_devices(1));
    auto trainer = small_trainer(runtime, strategy, {.seed = 3, .stall_limit = limit, .cluster = cluster});
    FitOptions options{.epochs = 2};
    const auto stall = [&](const auto&) { have_ended.wait_for(patience()); };
    if (rank == 1 && callback == "on_epoch") options.on_epoch = stall;
    if (rank == 1 && callback != "on_epoch") options.on_step = stall;
    try {
      trainer.fit(data_of_50(), options);
    } catch (...) {
      if (rank != 1 && ++ended == 2) others_ended.set_value();
      throw;
    }
  });
  for (const std::size_t rank : {0, 2})
    if (ends[rank].find("process 1 (") == std::string::npos || ends[rank].find(callback) == std::string::npos)
      return "rank " + std::to_string(rank) + " says '" + ends[rank] + "'";
  return "";
}

}  // namespace

TEST_CASE("the text of an exception in a callback of one process travels to the others") {
  const int thrower = GENERATE(0, 1);
  const bool in_epoch = GENERATE(false, true);
  const auto address = new_address();
  const auto ends = on_processes(3, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, 3, address));
    Runtime runtime({.workers = 1, .cpu_devices = 3});
    const MultiWorkerMirrored strategy(*cluster, cpu_devices(1));
    auto trainer = small_trainer(runtime, strategy, {.seed = 3, .cluster = cluster});
    FitOptions options{.epochs = 1'000'000};
    const auto fail = [&](const auto&) {
      if (rank == thrower) throw Error("report", "the disk is full");
    };
    if (in_epoch)
      options.on_epoch = fail;
    else
      options.on_step = fail;
    trainer.fit(data_of_50(), options);
  });
  for (int rank = 0; rank < 3; ++rank) {
    const auto& end = ends[static_cast<std::size_t>(rank)];
    if (rank == thrower)
      CHECK(end == "[report] the disk is full");
    else
      CHECK_THAT(end, Contains("the program of process " + std::to_string(thrower) + " has thrown: [report] the disk"));
  }
}

TEST_CASE("a stall names the process whose callback does not return") {
  const std::string callback = GENERATE("a callback of its program", "on_epoch");
  const auto stall = [&](std::chrono::milliseconds limit) { return stall_in_callback(callback, limit); };
  CHECK(keeps_promise(std::chrono::seconds(3), stall) == "");
}

TEST_CASE("a process is busy in every callback of a fit, and not while a callback waits for another process") {
  const auto address = new_address();
  std::vector<std::shared_ptr<Cluster>> clusters(2);
  const auto what_of = [&](int rank) {
    const auto work = clusters[static_cast<std::size_t>(rank)]->busy().own();
    return work ? work->what : "";
  };
  std::vector<std::set<std::string>> callbacks(2);
  std::atomic<int> epochs_at_0{0}, epochs_at_1{0};
  const auto ends = on_processes(2, [&](int rank) {
    const auto index = static_cast<std::size_t>(rank);
    const auto cluster = clusters[index] = join_cluster(options_of(rank, 2, address));
    Runtime runtime({.workers = 1, .cpu_devices = 2});
    const MultiWorkerMirrored strategy(*cluster, cpu_devices(1));
    auto trainer = small_trainer(runtime, strategy, {.seed = 3, .stall_limit = patience(), .cluster = cluster});
    const auto note = [&](const std::string& callback) { callbacks[index].insert(callback + ": " + what_of(rank)); };
    FitOptions options{.epochs = 3, .pause_every = 2};
    options.on_step = [&](const StepMetrics&) { note("on_step"); };
    options.on_pause = [&](const Metrics&) { note("on_pause"); };
    options.stop_requested = [&] { return note("stop_requested"), false; };
    options.on_epoch = [&](const EpochMetrics&) {
      note("on_epoch");
      ++(rank == 0 ? epochs_at_0 : epochs_at_1);
      // Process 1 comes to the evaluation only once process 0 waits for it there.
      const auto waits_at_0 = [&] { return epochs_at_0 == epochs_at_1 && what_of(0).empty(); };
      if (rank == 1 && !eventually(waits_at_0)) throw Error("test", "process 0 stays busy");
      trainer.evaluate(data_of_50());
      note("on_epoch");
    };
    trainer.fit(data_of_50(), options);
    callbacks[index].insert("after the fit: " + what_of(rank));
    cluster->leave();
  });
  CHECK(ends == Ends(2));
  const std::set<std::string> busy{"on_step: a callback of its program", "on_pause: on_pause", "on_epoch: on_epoch",
                                   "stop_requested: stop_requested", "after the fit: "};
  CHECK(callbacks == std::vector{busy, busy});
}

TEST_CASE("a wait between runs that reaches its limit names the process that is busy") {
  const auto address = new_address();
  std::vector<Ends> texts(2);
  const auto ends = on_processes(2, [&](int rank) {
    const auto cluster = join_cluster(options_of(rank, 2, address));
    const auto wait = [&](const std::exception_ptr& error) {
      try {
        await_others(*cluster, std::chrono::seconds(20), [&] { std::rethrow_exception(error); });
      } catch (const std::exception& seen) {
        texts[static_cast<std::size_t>(rank)].emplace_back(seen.what());
      }
    };
    const auto timed_out = std::make_exception_ptr(TimedOut("collective", "not complete"));
    wait(timed_out);
    cluster->agree("the first wait", 0, {});
    const auto before = BusyRanks::Clock::now() - std::chrono::seconds(100);
    if (rank == 1) cluster->busy().set_task(&address, BusyRanks::Work{"'load'", before});
    if (!eventually([&] { return cluster->busy().longest().has_value(); })) throw Error("test", "none is busy");
    wait(timed_out);
    wait(std::make_exception_ptr(Error("cluster", "lost")));
    cluster->leave();
  });
  CHECK(ends == Ends(2));
  for (const auto& seen : texts) {
    REQUIRE(seen.size() == 3);
    CHECK(seen[0] == "[collective] not complete");
    CHECK_THAT(seen[1], Contains("[stall] process 1 (") && Contains(" has been in 'load' for 1") &&
                            Contains(" s: [collective] not complete"));
    CHECK(seen[2] == "[cluster] lost");
  }
}
