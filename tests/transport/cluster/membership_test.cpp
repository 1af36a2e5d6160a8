#include "troupe/transport/cluster/membership.hpp"

#include <future>

#include "troupe/tests/catch.hpp"

using namespace troupe;

TEST_CASE("a silent process is lost by name; one across a network has longer for its first sign of life") {
  const auto [to_far, far] = make_memory_link();
  const auto [to_near, near] = make_memory_link();
  MembershipOptions options{.interval = std::chrono::milliseconds(10), .limit = std::chrono::milliseconds(200)};
  options.is_far = [](int rank) { return rank == 1; };
  options.describe = [](int rank) { return "process " + std::to_string(rank) + " (of a test)"; };
  std::promise<FailurePtr> told;
  const auto on_lost =
      std::make_shared<const Membership::OnLost>([&](const FailurePtr& failure) { told.set_value(failure); });
  Membership membership(options, {{1, to_far}, {2, to_near}});
  membership.on_lost(on_lost);
  auto lost = told.get_future();
  REQUIRE(lost.wait_for(std::chrono::seconds(30)) == std::future_status::ready);
  const auto failure = lost.get();
  CHECK(failure->rank == 2);
  CHECK(failure->kind == FailureKind::part_died);
  CHECK_THAT(failure->what, Contains("process 2 (of a test) has shown no sign of life for "));
}

TEST_CASE("without an expendable process the others go on, and it learns that it was given up") {
  const auto [to_quick, quick] = make_memory_link();
  const auto [to_silent, silent] = make_memory_link();
  MembershipOptions options{.interval = std::chrono::milliseconds(10), .limit = std::chrono::milliseconds(200)};
  options.describe = [](int rank) { return "process " + std::to_string(rank); };
  std::promise<int> gone_here, gone_there;
  options.on_gone = [&](int rank, const FailurePtr&) { gone_here.set_value(rank); };
  MembershipOptions others = options;
  others.rank = 1;
  others.on_gone = [&](int rank, const FailurePtr&) { gone_there.set_value(rank); };
  Membership first(options, {{1, to_quick}, {2, to_silent}});
  first.set_expendable({2});
  Membership second(others, {{0, quick}});
  second.set_expendable({2});
  auto here = gone_here.get_future(), there = gone_there.get_future();
  REQUIRE(here.wait_for(std::chrono::seconds(30)) == std::future_status::ready);
  REQUIRE(there.wait_for(std::chrono::seconds(30)) == std::future_status::ready);
  CHECK(here.get() == 2);
  CHECK(there.get() == 2);
  // It wakes up, reads its mail, and finds that it is out.
  others.rank = 2;
  Membership third(others, {{0, silent}});
  third.set_expendable({2});
  std::promise<FailurePtr> told;
  const auto on_lost = std::make_shared<const Membership::OnLost>([&](const FailurePtr& why) { told.set_value(why); });
  third.on_lost(on_lost);
  auto lost = told.get_future();
  REQUIRE(lost.wait_for(std::chrono::seconds(30)) == std::future_status::ready);
  CHECK(lost.get()->rank == 2);
  // Nobody waits for it in the end.
  auto leaving = std::async(std::launch::async, [&] { second.leave(std::chrono::seconds(30)); });
  first.leave(std::chrono::seconds(30));
  CHECK_NOTHROW(leaving.get());
  // It counts as gone once all here have been told, which comes before the watch takes in that the others leave.
  CHECK(first.gone(2));
  CHECK(!first.gone(1));
  CHECK(first.lost() == nullptr);
}
