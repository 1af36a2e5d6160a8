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
