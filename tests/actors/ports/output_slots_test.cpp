#include "troupe/actors/ports/output_slots.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

TEST_CASE("a slot is free again when its last consumer has returned it") {
  OutputSlots slots(2, 3);
  const auto first = slots.take();
  const auto second = slots.take();
  CHECK(first != second);
  CHECK_FALSE(slots.has_free());
  CHECK_FALSE(slots.give_back(first, 0));
  CHECK_FALSE(slots.give_back(first, 2));
  CHECK(slots.holder() == (first < second ? 1U : 0U));
  CHECK(slots.give_back(first, 1));
  CHECK(slots.free_count() == 1);
  CHECK(slots.take() == first);
}

TEST_CASE("slots are taken in turn, so that the last tensors sent lie in different ones") {
  OutputSlots slots(3, 1);
  std::vector<std::uint32_t> taken;
  for (int i = 0; i < 6; ++i) {
    taken.push_back(slots.take());
    slots.give_back(taken.back(), 0);
  }
  CHECK(taken == std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2});
  OutputSlots full(1, 1);
  full.take();
  CHECK_THROWS_WITH(full.take(), Contains("[credit] there is no free slot"));
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
  CHECK_FALSE(slots.holder());
}

TEST_CASE("a certain slot can be taken while it is free") {
  OutputSlots slots(2, 2);
  slots.take(1);
  CHECK(slots.free_count() == 1);
  CHECK_THROWS_WITH(slots.take(1), Contains("slot 1 is not free"));
  CHECK_THROWS_WITH(slots.take(2), Contains("slot 2 is not free"));
  slots.give_back(1, 0);
  CHECK_THROWS_WITH(slots.take(1), Contains("slot 1 is not free"));
  slots.give_back(1, 1);
  slots.take(1);
  CHECK(slots.take() == 0);
}

TEST_CASE("without consumers a slot is always free") {
  OutputSlots slots(1, 0);
  slots.take();
  CHECK(slots.has_free());
  CHECK(slots.free_count() == 1);
}
