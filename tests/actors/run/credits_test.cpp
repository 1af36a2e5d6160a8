#include "troupe/actors/run/credits.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

TEST_CASE("an input queue gives back in order of arrival and refuses more than its capacity") {
  InputQueue queue(2);
  CHECK(queue.empty());
  for (std::uint32_t round = 0; round < 3; ++round) {
    queue.push({2 * round, {}, nullptr});
    queue.push({2 * round + 1, {}, nullptr});
    CHECK_THROWS_AS(queue.push({9, {}, nullptr}), Error);
    CHECK(queue.pop().slot == 2 * round);
    CHECK(queue.pop().slot == 2 * round + 1);
    CHECK(queue.empty());
  }
}

TEST_CASE("a slot is free again when its last consumer has returned it") {
  OutputSlots slots(2, 3);
  const auto first = slots.take();
  const auto second = slots.take();
  CHECK(first != second);
  CHECK_FALSE(slots.has_free());
  CHECK_FALSE(slots.give_back(first, 0));
  CHECK_FALSE(slots.give_back(first, 2));
  CHECK(slots.holder() == (first < second ? 1 : 0));
  CHECK(slots.give_back(first, 1));
  CHECK(slots.free_count() == 1);
  CHECK(slots.take() == first);
}

TEST_CASE("a credit that was not out is refused") {
  OutputSlots slots(1, 2);
  CHECK_THROWS_AS(slots.give_back(0, 0), Error);
  const auto slot = slots.take();
  slots.give_back(slot, 1);
  CHECK_THROWS_AS(slots.give_back(slot, 1), Error);
  CHECK_THROWS_AS(slots.give_back(slot, 2), Error);
  CHECK_THROWS_AS(slots.give_back(1, 0), Error);
  CHECK(slots.give_back(slot, 0));
  CHECK(slots.holder() == -1);
}
