#include "troupe/transport/membership/busy_ranks.hpp"

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
  CHECK_FALSE(first.set(since(std::chrono::seconds(100), "on_step")));
  second.set(since(std::chrono::seconds(50), "on_epoch"));
  beat_all();
  for (const auto* ranks : {&zero, &first, &second}) {
    const auto longest = ranks->longest();
    REQUIRE(longest);
    CHECK(longest->rank == 1);
    CHECK(longest->what == "on_step");
    CHECK(longest->time >= std::chrono::seconds(100));
  }
  CHECK(first.set(std::nullopt)->what == "on_step");
  beat_all();
  beat_all();
  for (const auto* ranks : {&zero, &first, &second}) CHECK(ranks->longest()->rank == 2);
  second.set(std::nullopt);
  beat_all();
  beat_all();
  for (const auto* ranks : {&zero, &first, &second}) CHECK_FALSE(ranks->longest());
}

TEST_CASE("a rank that is busy for a moment is not reported, nor one that is lost") {
  BusyRanks zero(0), first(1);
  zero.set(since(std::chrono::seconds(0), "on_step"));
  CHECK_FALSE(zero.longest());
  first.set(since(std::chrono::seconds(9), "on_step"));
  beat(first, 1, zero);
  CHECK(zero.longest());
  zero.forget(1);
  CHECK_FALSE(zero.longest());
}
