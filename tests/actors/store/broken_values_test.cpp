// Parameters that a failed or abandoned run may have left half-written.

#include "troupe/actors/store/lease.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/tests/actors/store/stored_values.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("after a failure whole copies stay, half-written ones are refused until they are replaced") {
  ParameterStore store(1);
  for (int replica : {0, 1})
    for (const auto* name : {"a", "b"}) store.add(parameter(name, replica));
  const std::vector<ParameterRef> all{{"a", 0}, {"b", 0}, {"a", 1}, {"b", 1}};
  SECTION("one replica lacks an update of one parameter") {
    auto lease = store.borrow({}, all, "run", {});
    for (const auto& ref : {all[0], all[1], all[2]}) update(store, ref, 2.0F);
    lease.end_dirty("[op] broke");
  }
  SECTION("an update was interrupted") {
    auto lease = store.borrow({}, all, "run", {});
    for (const auto& ref : {all[0], all[1]}) update(store, ref, 2.0F);
    update(store, all[2], 9.0F, false);
    lease.end_dirty("[op] broke");
  }
  CHECK_THROWS_WITH(store.borrow({}, all, "next", {}), Contains("replica 1 may be half-written: [op] broke") &&
                                                           Contains("recover() goes on from the newest whole replica"));
  CHECK_THROWS_AS(store.get("a", 1), Error);
  CHECK(values(store.get("a", 0)) == std::vector<float>(4, 2.0F));
  CHECK_THAT(store.broken(), Contains("replica 1"));
  store.recover();
  CHECK(store.broken().empty());
  CHECK(values(store.get("a", 1)) == std::vector<float>(4, 2.0F));
  CHECK(values(store.get("b", 1)) == std::vector<float>(4, 2.0F));
  auto next = store.borrow({}, all, "next", {});
  next.end_clean();
}

TEST_CASE("if no replica is whole only set() helps, and a run that was abandoned cannot harm what follows") {
  ParameterStore store(1);
  for (const auto* name : {"a", "b"}) store.add(parameter(name));
  const auto orphan = store.borrowed({"a", 0});
  auto lease = store.borrow({}, {{"a", 0}, {"b", 0}}, "run", {});
  update(store, {"a", 0}, 2.0F);
  lease.abandon("it hung");
  CHECK_THROWS_WITH(store.recover(), Contains("it hung; no replica is whole, so set them from a checkpoint"));
  store.set("a", constant(1.0F));
  store.set("b", constant(1.0F));
  for (auto& element : orphan.mutable_data<float>()) element = 9.0F;
  CHECK(values(store.get("a")) == std::vector<float>(4, 1.0F));
}

TEST_CASE("a new copy is not made from a broken or a half-written one") {
  ParameterStore store;
  const std::vector<ParameterRef> first{{"w", 0}};
  store.add(parameter("w", 0));
  {
    auto lease = store.borrow({}, first, "a run", {});
    CHECK_THROWS_WITH(store.add(parameter("w", 1)), Contains("is being written by a run"));
    update(store, first[0], 5.0F, false);
    lease.end_dirty("[op] broke");
  }
  CHECK_THROWS_WITH(store.add(parameter("w", 1)), Contains("no replica is whole"));
  store.set("w", constant(2.0F));
  store.add(parameter("w", 1));
  CHECK(store.get("w", 1).data<float>()[0] == 2.0F);
}

TEST_CASE("a run that was abandoned counts no updates of the copy that replaces its own") {
  ParameterStore store;
  const std::vector<ParameterRef> all{{"w", 0}, {"w", 1}};
  store.add(parameter("w", 0));
  store.add(parameter("w", 1));
  const auto old = store.counter(all[0]);
  auto lease = store.borrow({}, all, "a run", {});
  lease.abandon("it hangs");
  store.set("w", constant(1.0F));
  const auto before = *store.newest_updates("w");
  old->begin_update();
  old->finish_update();
  old->begin_update();
  CHECK(*store.newest_updates("w") == before);
  auto next = store.borrow({}, all, "the next run", {});
  next.end_dirty("[op] broke");
  CHECK(store.broken().empty());
}

TEST_CASE("work on a device that outlives its plan leaves its copies broken and gets none of the next ones") {
  ParameterStore store;
  const std::vector<ParameterRef> all{{"w", 0}};
  store.add(parameter("w", 0));
  const auto before = store.borrowed(all[0]);
  auto lease = store.borrow({}, all, "a run", {});
  store.counter(all[0])->abandon();
  lease.end_dirty("it was given up");
  CHECK_THAT(store.broken(), Contains("may be half-written: it was given up"));
  store.set("w", constant(1.0F));
  CHECK_FALSE(store.borrowed(all[0]).same_as(before));
}
