#include "troupe/actors/control/run_coordinator.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

/// A run control and what it has posted to its parts.
struct Controlled {
  explicit Controlled(const std::vector<bool>& has_sources) : posted(has_sources.size()) {
    for (std::size_t part = 0; part < has_sources.size(); ++part)
      control.join([this, part](const RunOrder& order) { posted[part].push_back(order); }, has_sources[part]);
  }

  /// Brings a run to the point where its sources may fire.
  void start_run() {
    control.start({});
    for (int part = 0; part < static_cast<int>(posted.size()); ++part) control.wired(part);
    for (int part = 0; part < static_cast<int>(posted.size()); ++part) control.prepared(part, kLastStep);
  }

  template <class Order>
  std::size_t count(int part) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(posted[static_cast<std::size_t>(part)],
                              [](const auto& order) { return std::holds_alternative<Order>(order); }));
  }
  template <class Order>
  Order last(int part) const {
    return std::get<Order>(posted[static_cast<std::size_t>(part)].back());
  }

  RunCoordinator control;
  std::vector<std::vector<RunOrder>> posted;
};

FailurePtr failure_of(const std::string& actor) {
  return std::make_shared<Failure>(Failure{.actor = actor, .what = actor + " failed"});
}

}  // namespace

TEST_CASE("all parts are prepared before the sources of any start, up to the first end that a part knows") {
  Controlled run({true, true, false});
  run.control.start({});
  for (int part : {2, 0}) run.control.wired(part);
  CHECK(run.count<PrepareRun>(0) == 0);
  run.control.wired(1);
  for (int part : {0, 1, 2}) CHECK(run.count<PrepareRun>(part) == 1);
  run.control.prepared(0, 9);
  run.control.prepared(2, kLastStep);
  CHECK(run.count<StartSources>(0) == 0);
  run.control.prepared(1, 7);
  for (int part : {0, 1}) CHECK(run.last<StartSources>(part).end_step == 7);
  CHECK(run.count<StartSources>(2) == 0);
}

TEST_CASE("a run names the processes that take no part in it, also before a lost one has come back") {
  using Attendance = RunCoordinator::Attendance;
  RunCoordinator control;
  std::vector<RunOrder> posted, posted_back;
  const auto nothing = [](const auto&) {};
  // Rank 0 adds the parts of the other processes before its own.
  const int second = control.join_remote(nothing, nothing, false, 1, Attendance::needed);
  const int third = control.join_remote(nothing, nothing, false, 2, Attendance::expected);
  const int own = control.join([&](const RunOrder& order) { posted.push_back(order); }, true);
  const auto end_run = [&](const std::vector<int>& parts) {
    for (const int part : parts) control.prepared(part, kLastStep);
    for (const int part : parts) control.finished(part);
    REQUIRE(control.phase() == RunPhase::done);
  };
  for (const int part : {second, third, own}) control.wired(part);
  for (const int part : {second, third}) control.asked(part, {});
  control.start({});
  CHECK(std::get<PrepareRun>(posted.front()).absent.empty());
  end_run({second, third, own});
  control.lose(third);
  control.asked(second, {});
  posted.clear();
  control.start({});
  CHECK(std::get<PrepareRun>(posted.front()).absent == std::vector{2});
  CHECK(control.absent() == std::vector{2});
  // The process comes back while the run goes on, and takes part in the next run.
  const int again = control.join_remote([&](const RunOrder& order) { posted_back.push_back(order); }, nothing, false, 2,
                                        Attendance::late_comer);
  control.wired(again);
  control.asked(again, {});
  end_run({second, own});
  CHECK(posted_back.empty());
  control.asked(second, {});
  posted.clear();
  control.start({});
  CHECK(std::get<PrepareRun>(posted.front()).absent.empty());
  CHECK(posted_back.size() == 1);
  end_run({second, again, own});
}

TEST_CASE("a stop ends all sources at the furthest step of any, and the run when all parts have finished") {
  Controlled run({true, true});
  run.start_run();
  run.control.stop();
  run.control.stop();
  for (int part : {0, 1}) CHECK(run.count<PauseSources>(part) == 1);
  run.control.paused(0, 1, 5);
  CHECK(run.count<RunUntil>(0) == 0);
  run.control.paused(1, 1, 3);
  for (int part : {0, 1}) CHECK(run.last<RunUntil>(part).end_step == 5);
  run.control.finished(0);
  CHECK(run.control.phase() == RunCoordinator::Phase::running);
  run.control.finished(1);
  CHECK(run.control.phase() == RunCoordinator::Phase::done);
  CHECK(run.control.drained());
}

TEST_CASE("a stop before the sources have started ends them without a step") {
  Controlled run({true});
  run.control.start({.first_step = 4, .max_steps = 10});
  run.control.wired(0);
  run.control.stop();
  run.control.prepared(0, kLastStep);
  CHECK(run.last<StartSources>(0).end_step == 4);
}

TEST_CASE("the failure that is reported first is the root cause, and ends all parts like a stop") {
  Controlled run({true, true});
  run.start_run();
  run.control.failed(failure_of("first"));
  run.control.failed(failure_of("second"));
  CHECK(run.control.failure()->actor == "first");
  for (int part : {0, 1}) CHECK(run.count<PauseSources>(part) == 1);
  for (int part : {0, 1}) run.control.finished(part);
  CHECK(run.control.phase() == RunCoordinator::Phase::failed);
  CHECK_THROWS_WITH(run.control.start({}), Contains("first failed"));
}

TEST_CASE("a failure of an earlier step that is reported later is the root cause, unless a part was lost") {
  const auto of_step = [](std::int64_t step, FailureKind kind) {
    return std::make_shared<Failure>(Failure{.actor = "loader", .step = step, .kind = kind, .what = "it failed"});
  };
  const auto first = GENERATE(FailureKind::op_error, FailureKind::invalid_sample, FailureKind::part_died);
  const auto later = GENERATE(FailureKind::op_error, FailureKind::invalid_sample);
  Controlled run({true, true});
  run.start_run();
  run.control.failed(of_step(7, first));
  run.control.failed(of_step(5, later));
  run.control.failed(of_step(6, later));
  for (int part : {0, 1}) run.control.finished(part);
  CHECK(run.control.failure()->step == (first == FailureKind::part_died ? 7 : 5));
}

TEST_CASE("a run that is given up is over at once for all parts, with the failure that was there before") {
  Controlled run({true, false});
  run.start_run();
  run.control.failed(failure_of("first"));
  run.control.give_up(failure_of("watchdog"));
  CHECK(run.control.phase() == RunCoordinator::Phase::failed);
  CHECK_FALSE(run.control.drained());
  for (int part : {0, 1}) CHECK(run.last<AbortRun>(part).failure->actor == "first");
  // Late reports change nothing.
  run.control.finished(0);
  run.control.finished(1);
  CHECK_FALSE(run.control.drained());
  CHECK(run.control.failure()->actor == "first");
}

TEST_CASE("a report on an earlier run is ignored") {
  Controlled run({true, true});
  run.start_run();
  for (int part : {0, 1}) run.control.finished(part);
  run.control.start({});
  for (int part : {0, 1}) run.control.prepared(part, kLastStep);
  run.control.stop();
  run.control.paused(0, 1, 50);
  run.control.paused(0, 2, 6);
  run.control.paused(1, 2, 7);
  CHECK(run.last<RunUntil>(1).end_step == 7);
}

TEST_CASE("a part that has gone gets no orders") {
  Controlled run({true, true});
  run.start_run();
  run.control.leave(1);
  run.control.stop();
  CHECK(run.count<PauseSources>(0) == 1);
  CHECK(run.count<PauseSources>(1) == 0);
}

TEST_CASE("a failure after a run has ended well forbids further runs and leaves the run its outcome") {
  Controlled run({true});
  run.start_run();
  run.control.finished(0);
  REQUIRE(run.control.phase() == RunPhase::done);
  CHECK(run.control.final_failure() == nullptr);
  const auto failure = failure_of("callback");
  run.control.give_up(failure);
  CHECK(run.control.failure() == nullptr);
  CHECK(run.control.final_failure() == failure);
  CHECK_THROWS_WITH(run.control.start({}), Contains("callback failed"));
}
