// The run control of a part in another process, and its other half at the coordinator, over a link in memory.

#include "troupe/actors/control/run_link.hpp"

#include "troupe/actors/control/run_frames.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

/// A coordinator with a part of its own (number 1), and a part elsewhere (number 0) with its follower.
struct TwoProcesses {
  explicit TwoProcesses(LinkFaults faults = {}) {
    auto [here, there] = make_memory_link(faults);
    remote = std::make_unique<RemotePart>(coordinator, here, 1, true);
    coordinator->join([this](const RunOrder& order) { orders_here.push_back(order); }, true);
    follower = std::make_shared<RunFollower>(there);
    follower->listen();
    follower->join([this](const RunOrder& order) { orders_there.push_back(order); }, true);
  }

  void wire() {
    follower->wired(0);
    coordinator->wired(1);
  }
  void start(const RunInfo& run = {}) {
    coordinator->start(run);
    follower->start(run);
  }
  void prepare(std::int64_t end_here, std::int64_t end_there) {
    coordinator->prepared(1, end_here);
    follower->prepared(0, end_there);
  }
  void start_and_prepare() {
    start();
    prepare(kLastStep, kLastStep);
  }
  /// Both sources say where they are when told to pause.
  void pause(std::int64_t step_here, std::int64_t step_there) {
    const auto run = std::get<PauseSources>(orders_there.back()).run;
    follower->paused(0, run, step_there);
    coordinator->paused(1, run, step_here);
  }
  void finish() {
    coordinator->finished(1);
    follower->finished(0);
  }

  std::vector<RunOrder> orders_here, orders_there;
  std::shared_ptr<RunCoordinator> coordinator = std::make_shared<RunCoordinator>();
  std::unique_ptr<RemotePart> remote;
  std::shared_ptr<RunFollower> follower;
};

template <class Order>
Order last(const std::vector<RunOrder>& orders) {
  REQUIRE_FALSE(orders.empty());
  REQUIRE(std::holds_alternative<Order>(orders.back()));
  return std::get<Order>(orders.back());
}

FailurePtr failure_in(const std::string& actor) {
  return std::make_shared<Failure>(Failure{.rank = 1, .actor = actor, .what = actor + " failed"});
}

}  // namespace

TEST_CASE("a run begins when the owners of all processes have started it, and ends for all of them") {
  TwoProcesses two;
  two.wire();
  const RunInfo run{3, 10, 1, 2};
  two.coordinator->start(run);
  CHECK(two.orders_here.empty());
  two.follower->start(run);
  CHECK(last<PrepareRun>(two.orders_here).info == run);
  CHECK(last<PrepareRun>(two.orders_there).info == run);
  two.prepare(13, 9);
  CHECK(last<StartSources>(two.orders_here).end_step == 9);
  CHECK(last<StartSources>(two.orders_there).end_step == 9);
  int over = 0;
  two.follower->on_over([&] { ++over; });
  two.finish();
  CHECK(over == 1);
  for (RunControl* control : std::initializer_list<RunControl*>{two.coordinator.get(), two.follower.get()}) {
    CHECK(control->phase() == RunControl::Phase::done);
    CHECK(control->drained());
    CHECK_FALSE(control->stopped());
    CHECK_FALSE(control->failure());
  }
  // And once more, begun from the other side.
  two.follower->start({13});
  CHECK(two.follower->phase() == RunControl::Phase::running);
  two.coordinator->start({13});
  CHECK(last<PrepareRun>(two.orders_there).run == 2);
}

TEST_CASE("a stop in either process ends the run at the furthest step, and both know that it was stopped") {
  const bool from_follower = GENERATE(false, true);
  TwoProcesses two;
  two.wire();
  two.start_and_prepare();
  from_follower ? two.follower->stop() : two.coordinator->stop();
  two.pause(5, 7);
  CHECK(last<RunUntil>(two.orders_here).end_step == 7);
  CHECK(last<RunUntil>(two.orders_there).end_step == 7);
  two.finish();
  CHECK(two.coordinator->stopped());
  CHECK(two.follower->stopped());
}

TEST_CASE("owners that start different runs, and one that goes, fail the run on both sides by name") {
  TwoProcesses differ;
  differ.wire();
  differ.coordinator->start({.first_step = 5});
  differ.follower->start({.first_step = 6});
  for (const auto& failure : {differ.coordinator->failure(), differ.follower->failure()}) {
    REQUIRE(failure);
    CHECK_THAT(failure->what, Contains("process 1 starts a run at epoch 0, batch 0, step 6, but process 0 at"));
  }
  TwoProcesses gone;
  gone.wire();
  gone.coordinator->start({});
  gone.follower->close();
  REQUIRE(gone.coordinator->failure());
  CHECK_THAT(gone.coordinator->failure()->what, Contains("process 1 has given up the plan"));
}

TEST_CASE("a failure between two runs reaches the other process, before or after it has started the next run") {
  const bool from_follower = GENERATE(false, true);
  const bool has_started = GENERATE(false, true);
  TwoProcesses two;
  two.wire();
  RunControl& failing = from_follower ? static_cast<RunControl&>(*two.follower) : *two.coordinator;
  RunControl& other = from_follower ? static_cast<RunControl&>(*two.coordinator) : *two.follower;
  if (has_started) other.start({});
  failing.give_up(failure_in("callback"));
  if (has_started) {
    REQUIRE(other.phase() == RunPhase::failed);
    CHECK(other.failure()->actor == "callback");
  } else {
    CHECK_THROWS_WITH(other.start({}), Contains("cannot run again after a failure") && Contains("callback"));
  }
  CHECK_THROWS_WITH(failing.start({}), Contains("callback"));
}

TEST_CASE("a failure in either process drains both, with the same root cause") {
  const bool from_follower = GENERATE(false, true);
  TwoProcesses two;
  two.wire();
  two.start_and_prepare();
  from_follower ? two.follower->failed(failure_in("first")) : two.coordinator->failed(failure_in("first"));
  two.pause(1, 1);
  two.finish();
  for (RunControl* control : std::initializer_list<RunControl*>{two.coordinator.get(), two.follower.get()}) {
    CHECK(control->phase() == RunControl::Phase::failed);
    CHECK(control->drained());
    REQUIRE(control->failure());
    CHECK(control->failure()->what == "first failed");
  }
  CHECK_THROWS_WITH(two.follower->start({}), Contains("cannot run again after a failure: first failed"));
}

TEST_CASE("a run that is given up is aborted on both sides; after its end nothing changes how it ended") {
  TwoProcesses two;
  two.wire();
  two.start();
  two.follower->give_up(failure_in("watchdog"));
  CHECK(last<AbortRun>(two.orders_here).failure->what == "watchdog failed");
  CHECK(last<AbortRun>(two.orders_there).failure->what == "watchdog failed");
  CHECK(two.coordinator->phase() == RunControl::Phase::failed);
  TwoProcesses ended;
  ended.wire();
  ended.start();
  ended.prepare(1, 1);
  ended.finish();
  ended.follower->give_up(failure_in("late"));
  CHECK(ended.follower->phase() == RunControl::Phase::done);
  CHECK_THROWS_WITH(ended.follower->start({}), Contains("late failed"));
}

TEST_CASE("a run that one process interrupts ends at one step and counts as interrupted in all, not as stopped") {
  TwoProcesses two;
  two.wire();
  const auto check_end = [&] {
    two.finish();
    for (const RunControl* control :
         {static_cast<RunControl*>(two.coordinator.get()), static_cast<RunControl*>(two.follower.get())}) {
      CHECK(control->phase() == RunPhase::done);
      CHECK(control->interrupted());
      CHECK_FALSE(control->stopped());
    }
  };
  two.start_and_prepare();
  two.follower->interrupt();
  two.pause(4, 6);
  CHECK(last<RunUntil>(two.orders_here).end_step == 6);
  CHECK(last<RunUntil>(two.orders_there).end_step == 6);
  check_end();
  // The sources start before they pause if the run is interrupted while it is prepared.
  two.start();
  two.coordinator->interrupt();
  two.prepare(kLastStep, kLastStep);
  CHECK(std::holds_alternative<StartSources>(two.orders_here[two.orders_here.size() - 2]));
  two.pause(7, 7);
  check_end();
  two.start_and_prepare();
  CHECK_FALSE(two.coordinator->interrupted());
}

TEST_CASE("words that a part cannot say, or a coordinator, are refused") {
  IncomingFrame strange{{.type = FrameType::control, .edge = 99},
                        std::make_unique<TensorPayload>(Frame::empty_payload())};
  CHECK_THROWS_WITH(word_of(strange), Contains("no run control sends"));
  strange.header.edge = static_cast<std::int32_t>(RunWord::wired);
  CHECK_THROWS_WITH(order_of(strange), Contains("no order"));
  strange.header.slot = 16;
  CHECK_THROWS_WITH(end_of(strange), Contains("carries no end of a run"));
  strange.header.edge = static_cast<std::int32_t>(RunWord::over);
  CHECK_THROWS_WITH(end_of(strange), "[run] flags 16 of the end of a run are unknown");
  // The flag of a failure, without the failure.
  strange.header.slot = 1;
  CHECK_THROWS_WITH(end_of(strange), "[run] a run has failed without a failure");
}

TEST_CASE("a message of a run control is decoded as the kind that it is") {
  const auto received = [](const Frame& frame) {
    return IncomingFrame{frame.header, std::make_unique<TensorPayload>(frame.payload)};
  };
  const RunInfo run{3, 5, 1, 2};
  CHECK(run_of(received(frame_of(RunWord::asked, run))) == run);
  CHECK_THROWS_WITH(run_of(received(frame_of(RunOrder(PrepareRun{1, run})))), Contains("carries no run"));
  CHECK_THROWS_WITH(end_of(received(frame_of(RunWord::finished))), Contains("carries no end of a run"));
  CHECK_THROWS_WITH(failure_of(received(frame_of(RunWord::asked, run))), Contains("carries no failure"));
  const auto failure = std::make_shared<const Failure>(Failure{.what = "[test] broken"});
  CHECK(failure_of(received(frame_of(RunWord::give_up, failure)))->what == failure->what);
}

TEST_CASE("a link between run controls that breaks at any frame ends the run on both sides, and hangs neither") {
  // wired, asked, prepare, prepared, start, stop, pause, paused, until, finished, over
  static constexpr std::int64_t kFrames = 11;
  const auto frame = GENERATE(range<std::int64_t>(0, kFrames));
  const bool flips = GENERATE(false, true);
  INFO("frame " << frame << (flips ? " damaged" : " lost"));
  LinkFaults faults{.seed = static_cast<std::uint64_t>(frame)};
  (flips ? faults.flip_bit_at : faults.break_at) = frame;
  TwoProcesses two(faults);
  // A run that an owner cannot start any more has failed before.
  const auto start = [](RunControl& control) {
    try {
      control.start({});
      return true;
    } catch (const Error& error) {
      CHECK_THAT(error.what(), Contains("cannot run again after a failure: ") && Contains("died or was cut off"));
      return false;
    }
  };
  two.wire();
  const bool started_here = start(*two.coordinator);
  const bool started_there = start(*two.follower);
  two.prepare(kLastStep, kLastStep);
  two.follower->stop();
  two.follower->paused(0, 1, 7);
  two.coordinator->paused(1, 1, 5);
  two.finish();
  const auto ended = [](const RunControl& control, bool started) {
    return started ? control.phase() == RunPhase::failed : control.phase() == RunPhase::idle;
  };
  // The last frame tells the follower of an end that the coordinator has already come to.
  CHECK((frame == kFrames - 1 ? two.coordinator->phase() == RunPhase::done : ended(*two.coordinator, started_here)));
  CHECK(ended(*two.follower, started_there));
  if (started_there) CHECK_THAT(two.follower->failure()->what, Contains("died or was cut off"));
}
