#include "troupe/actors/segment/arena_turn.hpp"

#include "troupe/tests/catch.hpp"

using namespace troupe;

TEST_CASE("an arena belongs to one segment until that segment gives it back") {
  ReadyQueue ready;
  ready.reserve(4);
  ArenaTurn turn(4);
  CHECK(turn.take(2));
  CHECK_FALSE(turn.take(0));
  CHECK_FALSE(turn.take(3));
  turn.give_back(1, ready);  // a segment without an arena
  turn.give_back(0, ready);  // a segment that waits
  CHECK(ready.empty());
  CHECK_FALSE(turn.take(1));
  turn.give_back(2, ready);
  for (const std::uint32_t waiter : {0U, 3U, 1U}) {
    REQUIRE_FALSE(ready.empty());
    CHECK(ready.pop() == waiter);
  }
  CHECK(ready.empty());
  turn.give_back(2, ready);  // a second time
  CHECK(turn.take(0));
  turn.give_back(0, ready);
  CHECK(ready.empty());
}
