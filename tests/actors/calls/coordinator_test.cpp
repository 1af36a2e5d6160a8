#include "troupe/actors/calls/coordinator.hpp"

#include <atomic>
#include <future>

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/plans/test_plans.hpp"
#include "troupe/tests/test_device/test_device.hpp"
#include "troupe/tests/transport/membership/threads_as_processes.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

Tensor number(float value) {
  return Tensor::scalar(value);
}

/// Functions of numbers.
CallFunctions functions() {
  return {{"double", [](RemoteCall& call) { return std::vector{number(2.0F * call.input(0).item<float>())}; }},
          {"token", [](RemoteCall& call) { return std::vector{number(static_cast<float>(call.token()))}; }},
          {"add",
           [](RemoteCall& call) {
             const auto sum = call.read("sum");
             call.add("sum", number(call.input(0).item<float>()));
             return std::vector{sum};
           }},
          {"misfit",
           [](RemoteCall& call) {
             call.add("sum", number(1.0F));
             call.add("sum", Tensor({3}, DType::float32));
             return std::vector<Tensor>{};
           }},
          {"fail", [](RemoteCall&) -> std::vector<Tensor> { throw Error("fail", "as it should"); }}};
}

}  // namespace

TEST_CASE("calls are executed by whichever worker has room, and give what their functions do") {
  for (std::uint64_t seed = 0; seed < schedules(20); ++seed) {
    const auto runtime = scheduled_runtime(seed);
    Coordinator coordinator(runtime, functions(), {.local_workers = 3});
    coordinator.variables().create("sum", number(1.0F));
    CHECK(coordinator.done());
    std::vector<RemoteValue> doubled;
    for (int i = 0; i < 20; ++i) {
      doubled.push_back(coordinator.schedule("double", {number(static_cast<float>(i))}));
      coordinator.schedule("add", {number(static_cast<float>(i))});
    }
    CHECK_FALSE(coordinator.done());
    CHECK(coordinator.fetch(doubled[7]).at(0).item<float>() == 14.0F);
    CHECK(doubled[7].is_ready());
    coordinator.join();
    CHECK(coordinator.done());
    for (int i = 0; i < 20; ++i)
      CHECK(coordinator.fetch(doubled[static_cast<std::size_t>(i)]).at(0).item<float>() ==
            2.0F * static_cast<float>(i));
    CHECK(coordinator.variables().read("sum").item<float>() == 191.0F);
    CHECK(coordinator.variables().updates_of("sum") == 20);
    CHECK(coordinator.workers() == 3);
  }
}

TEST_CASE("the first error cancels what is not at its end, is thrown once, and the coordinator goes on") {
  for (std::uint64_t seed = 0; seed < schedules(20); ++seed) {
    const auto runtime = scheduled_runtime(seed);
    Coordinator coordinator(runtime, functions(), {.local_workers = 2});
    const auto failed = coordinator.schedule("fail");
    std::vector<RemoteValue> others;
    for (int i = 0; i < 20; ++i) others.push_back(coordinator.schedule("double", {number(1.0F)}));
    CHECK_THROWS_WITH(coordinator.join(), "[coordinator] 'fail' failed: [fail] as it should");
    CHECK_NOTHROW(coordinator.join());
    CHECK_THROWS_WITH(coordinator.fetch(failed), "[coordinator] 'fail' failed: [fail] as it should");
    CHECK_THROWS_WITH(coordinator.fetch(others.back()),
                      "[coordinator] canceled, because 'fail' failed: [fail] as it should");
    coordinator.schedule("fail");
    while (!coordinator.done()) runtime.run_one();
    CHECK_THROWS_WITH(coordinator.schedule("double", {number(1.0F)}), Contains("'fail' failed"));
    CHECK(coordinator.fetch(coordinator.schedule("double", {number(4.0F)})).at(0).item<float>() == 8.0F);
  }
}

TEST_CASE("a call whose updates do not fit adds nothing") {
  const auto runtime = scheduled_runtime(1);
  Coordinator coordinator(runtime, functions(), {.local_workers = 1});
  coordinator.variables().create("sum", number(1.0F));
  coordinator.schedule("misfit");
  CHECK_THROWS_WITH(coordinator.join(),
                    Contains("'sum' is float32[]") && Contains("float32[3] on cpu:0 cannot be added to it"));
  CHECK(coordinator.variables().read("sum").item<float>() == 1.0F);
}

TEST_CASE("variables lie in host memory, wherever what they are made of and what is added lies") {
  const auto on_device = [](float value) { return number(value).to(test_device()); };
  const auto runtime = scheduled_runtime(1);
  Coordinator coordinator(runtime,
                          {{"add",
                            [&](RemoteCall& call) {
                              call.add("sum", on_device(2.0F));
                              return std::vector<Tensor>{};
                            }}},
                          {.local_workers = 1});
  coordinator.variables().create("sum", on_device(1.0F));
  coordinator.schedule("add");
  coordinator.join();
  CHECK(coordinator.variables().read("sum").item<float>() == 3.0F);
}

TEST_CASE("a call that cannot be sent to its worker fails with the reason, and the worker stays") {
  const std::string name(5'000, 'f');
  auto known = functions();
  known[name] = known.at("double");
  const auto address = new_address();
  const auto ends = on_processes(2, [&](int rank) {
    const Runtime runtime({.workers = 1});
    const auto cluster = join_cluster(options_of(rank, 2, address));
    if (rank == 1) {
      serve_calls(runtime, cluster, known);
    } else {
      Coordinator coordinator(runtime, known, {.cluster = cluster});
      coordinator.schedule(name, {number(1.0F)});
      CHECK_THROWS_WITH(coordinator.join(), Contains("is too long"));
      CHECK(coordinator.fetch(coordinator.schedule("double", {number(1.0F)})).at(0).item<float>() == 2.0F);
    }
    cluster->leave();
  });
  CHECK(ends == Ends(2));
}

TEST_CASE("what cannot be called is refused") {
  const auto runtime = scheduled_runtime(1);
  CHECK_THROWS_WITH(Coordinator(runtime, functions(), {}), "[coordinator] needs at least one worker");
  CHECK_THROWS_WITH(Coordinator(runtime, functions(), {.local_workers = 1, .in_flight = 0}),
                    "[coordinator] a worker needs room for at least one call, not 0");
  Coordinator coordinator(runtime, functions(), {.local_workers = 1});
  CHECK_THROWS_WITH(coordinator.schedule("triple"), "[coordinator] there is no function 'triple'");
  CHECK_THROWS_WITH(coordinator.schedule("double", {Tensor()}), "[coordinator] an input of 'double' is no tensor");
  coordinator.schedule("add", {number(1.0F)});
  CHECK_THROWS_WITH(coordinator.join(), Contains("there is no variable 'sum'"));
  coordinator.schedule("double");
  CHECK_THROWS_WITH(coordinator.join(),
                    "[coordinator] 'double' failed: [coordinator] a call with 0 inputs has no input 0");
  CHECK_THROWS_WITH(coordinator.variables().create("n", Tensor({2}, DType::int32)), Contains("must be float32"));
}

TEST_CASE("on threads, several calls of a worker wait where it is") {
  const Runtime runtime({.workers = 1});
  std::atomic<int> most{0}, now{0};
  CallFunctions counted{{"count", [&](RemoteCall&) {
                           most = std::max<int>(most, ++now);
                           --now;
                           return std::vector<Tensor>{};
                         }}};
  Coordinator coordinator(runtime, counted, {.local_workers = 2, .in_flight = 4});
  for (int i = 0; i < 500; ++i) coordinator.schedule("count");
  coordinator.join();
  CHECK(most <= 2);
}

TEST_CASE("workers in other processes, one of which goes and one of which comes back: every call adds once") {
  constexpr int kCalls = 300;
  const auto address = new_address();
  std::atomic<int> executed{0};
  std::promise<void> back;
  auto is_back = back.get_future();
  auto known = functions();
  known["count"] = [&](RemoteCall& call) {
    ++executed;
    const auto seen = call.read("sum").item<float>();
    call.add("sum", number(1.0F));
    return std::vector{number(seen)};
  };
  double sum = 0.0;
  const auto ends = on_processes(3, [&](int rank) {
    const Runtime runtime({.workers = 1});
    if (rank == 2) {
      // The worker ends while it has calls.
      {
        const auto cluster = join_cluster(options_of(rank, 3, address));
        serve_calls(runtime, cluster, known, {.stop_requested = [&] { return executed > kCalls / 4; }});
      }
      back.set_value();
    }
    const auto cluster = join_cluster(options_of(rank, 3, address));
    if (rank > 0) {
      serve_calls(runtime, cluster, known, {.threads = 2});
      return cluster->leave();
    }
    {
      Coordinator coordinator(runtime, known, {.cluster = cluster, .in_flight = 3});
      coordinator.variables().create("sum", number(0.0F));
      for (int i = 0; i < kCalls; ++i) coordinator.schedule("count");
      coordinator.join();
      REQUIRE(is_back.wait_for(patience()) == std::future_status::ready);
      REQUIRE(eventually([&] { return coordinator.workers() == 2; }));
      for (int i = 0; i < kCalls; ++i) coordinator.schedule("count");
      coordinator.join();
      sum = coordinator.variables().read("sum").item<float>();
      coordinator.schedule("fail");
      CHECK_THROWS_WITH(coordinator.join(), "[coordinator] 'fail' failed: [fail] as it should");
      const auto token = coordinator.schedule("token");
      CHECK(coordinator.fetch(token).at(0).item<float>() == 2.0F * kCalls + 1.0F);
      coordinator.schedule("double");
      coordinator.variables().create("other", number(0.0F));
    }
    cluster->leave();
  });
  CHECK(ends == Ends(3));
  CHECK(sum == 2.0F * kCalls);
  CHECK(executed >= 2 * kCalls);
}
