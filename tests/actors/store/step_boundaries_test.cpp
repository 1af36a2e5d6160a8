// Threads that read and set parameters wait for boundaries of fits. The thread of a test drives the fits.

#include "troupe/actors/store/step_boundaries.hpp"

#include <atomic>
#include <chrono>
#include <future>

#include "troupe/tests/actors/store/test_fit.hpp"
#include "troupe/tests/scheduling_probe.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE(
    "a value is set at a boundary of the fit that uses it, though the thread of the fit drives another fit, too") {
  const auto store = store_of({{"a", 0}, {"b", 0}});
  TestFit first(store, {{"a", 0}}), second(store, {{"b", 0}});
  first.begin_run();
  second.begin_run();
  auto is_set = elsewhere([&] { store->set("a", full(7.0F)); });
  first.await_request();
  first.end_run(1.0F);
  first.begin_run();
  CHECK(store->borrowed({"a", 0}).data<float>()[0] == 7.0F);
  is_set.get();
  CHECK(second.requests() == 0);
  first.end_run(1.0F);
  second.end_run(1.0F);
}

TEST_CASE("a fit does not wait for a visit that another fit of its thread keeps out") {
  const auto store = store_of({{"a", 0}, {"b", 0}, {"shared", 0}});
  auto& parameters = *store;
  // Both fits use `shared`, and the second one is in a run.
  StepBoundaries first(store, {"a", "shared"}, StepBoundaries::Open::between_runs, [] {});
  std::promise<void> asked;
  std::atomic<int> requests{0};
  StepBoundaries second(store, {"b", "shared"}, StepBoundaries::Open::between_runs, [&] {
    if (requests++ == 0) asked.set_value();
  });
  for (auto* fit : {&first, &second}) {
    fit->close(false);
    fit->note_run();
  }
  auto is_set = elsewhere([&] { parameters.set("shared", full(7.0F)); });
  asked.get_future().wait();
  // A fit waits 10 s for a visit.
  const SchedulingProbe probe;
  const auto begin = std::chrono::steady_clock::now();
  first.open();
  first.close(true);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5) + probe.worst_delay());
  second.open();
  first.open();
  is_set.get();
  CHECK(parameters.get("shared").data<float>()[0] == 7.0F);
}

TEST_CASE("a thread does not wait for fits that do not use a parameter that a run writes") {
  const auto store = store_of({{"a", 0}, {"b", 0}});
  TestFit fit(store, {{"a", 0}});
  fit.begin_run();
  auto lease = store->borrow({}, {{"b", 0}}, "a recorded run", {});
  CHECK_THAT(error_of([&] { (void)store->get("b"); }), Contains("is being written by a recorded run"));
  ParameterReader reader(store, {{"b", 0}}, kNoRefresh);
  CHECK_THAT(error_of([&] { read(reader); }), Contains("is being written by a recorded run"));
  CHECK(fit.requests() == 0);
  lease.end_clean();
  fit.end_run(1.0F);
}

TEST_CASE("after the driver of a fit has left, other users of its thread wait for a boundary") {
  const auto store = store_of({{"a", 0}});
  TestFit fit(store, {{"a", 0}});
  fit.begin_run();
  CHECK_THROWS_WITH(store->get("a"), Contains("is being written by the fit"));
  fit.boundaries().clear_driver();
  auto end = elsewhere([&] {
    fit.await_request();
    fit.boundaries().set_driver();
    fit.end_run(3.0F);
  });
  CHECK(store->get("a").data<float>()[0] == 3.0F);
  end.get();
}
