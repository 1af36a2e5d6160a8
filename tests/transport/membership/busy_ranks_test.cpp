#include "troupe/transport/membership/busy_ranks.hpp"

#include <thread>

#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

BusyRanks::Work since(std::chrono::seconds ago, const std::string& what) {
  return {what, BusyRanks::Clock::now() - ago};
}

/// Sends a heartbeat of `from` to `to`.
void beat(const BusyRanks& from, int rank, BusyRanks& to) {
  Frame frame{{.type = FrameType::control}};
  from.write(frame);
  to.read(rank, frame.header, frame.payload);
}

}  // namespace

TEST_CASE("all ranks learn the rank that has been busy for longest, until it is not busy any more") {
  BusyRanks zero(0), first(1), second(2);
  const auto beat_all = [&] {
    beat(first, 1, zero);
    beat(second, 2, zero);
    beat(zero, 0, first);
    beat(zero, 0, second);
  };
  CHECK_FALSE(first.set_callback(since(std::chrono::seconds(100), "on_step")));
  second.set_callback(since(std::chrono::seconds(50), "on_epoch"));
  beat_all();
  for (const auto* ranks : {&zero, &first, &second}) {
    const auto longest = ranks->longest();
    REQUIRE(longest);
    CHECK(longest->rank == 1);
    CHECK(longest->what == "on_step");
    CHECK(longest->time >= std::chrono::seconds(100));
  }
  CHECK(first.set_callback(std::nullopt)->what == "on_step");
  beat_all();
  beat_all();
  for (const auto* ranks : {&zero, &first, &second}) CHECK(ranks->longest()->rank == 2);
  second.set_callback(std::nullopt);
  beat_all();
  beat_all();
  for (const auto* ranks : {&zero, &first, &second}) CHECK_FALSE(ranks->longest());
}

TEST_CASE("a rank that is busy for a moment is not reported, nor one that is lost") {
  BusyRanks zero(0), first(1);
  zero.set_callback(since(std::chrono::seconds(0), "on_step"));
  CHECK_FALSE(zero.longest());
  first.set_callback(since(std::chrono::seconds(9), "on_step"));
  beat(first, 1, zero);
  CHECK(zero.longest());
  zero.forget(1);
  CHECK_FALSE(zero.longest());
}

TEST_CASE("a callback that lasts comes before the tasks of its rank, and a task before a short callback") {
  BusyRanks ranks(0);
  int plan = 0;
  ranks.set_task(&plan, since(std::chrono::seconds(100), "'conductor0'"));
  ranks.set_callback(since(std::chrono::seconds(0), "on_step"));
  CHECK(ranks.longest()->what == "'conductor0'");
  ranks.set_callback(since(std::chrono::seconds(9), "on_step"));
  CHECK(ranks.longest()->what == "on_step");
  ranks.set_callback(std::nullopt);
  CHECK(ranks.longest()->what == "'conductor0'");
  ranks.set_task(&plan, std::nullopt);
  CHECK_FALSE(ranks.longest());
}

TEST_CASE("a callback that waits for other ranks is not busy, and its time begins anew after the wait") {
  BusyRanks ranks(0);
  ranks.set_callback(since(std::chrono::seconds(100), "on_epoch"));
  {
    const BusyScope waiting(ranks, std::nullopt);
    CHECK_FALSE(ranks.own());
    const BusyScope callback(ranks, "on_step");
    CHECK(ranks.own()->what == "on_step");
  }
  REQUIRE(ranks.own());
  CHECK(ranks.own()->what == "on_epoch");
  CHECK(BusyRanks::Clock::now() - ranks.own()->since < std::chrono::seconds(100));
}

TEST_CASE("a thread that waits leaves the callback of another thread busy") {
  BusyRanks ranks(0);
  ranks.set_callback(since(std::chrono::seconds(100), "on_epoch"));
  std::thread([&] { const BusyScope waiting(ranks, std::nullopt); }).join();
  CHECK(ranks.longest()->what == "on_epoch");
}
