#include "troupe/actors/store/parameter_store.hpp"

#include <chrono>
#include <memory>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/store/lease.hpp"
#include "troupe/actors/store/parameter_reader.hpp"
#include "troupe/actors/store/update_counter.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/tests/actors/store/stored_values.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("what replicas have for themselves starts anew in another shape; other values are refused") {
  ParameterStore store(1);
  auto own = state("kept");
  own.per_replica = true;
  store.add(own);
  update(store, {"kept", 0}, 5.0F);
  store.add(own);
  CHECK(values(store.get("kept")) == std::vector<float>(4, 5.0F));
  own.info = {{3}, DType::float32};
  store.add(own);
  CHECK(values(store.get("kept")) == std::vector<float>(3, 0.0F));
  store.add(state("momentum"));
  auto other = state("momentum");
  other.info = own.info;
  CHECK_THROWS_WITH(store.add(other), Contains("parameter 'momentum' is float32[2, 2], not float32[3]"));
}

TEST_CASE("replicas start alike, seeds and parameters differ") {
  ParameterStore store(1), other(2);
  for (int replica : {0, 1}) {
    store.add(parameter("a", replica));
    store.add(parameter("b", replica));
  }
  other.add(parameter("a"));
  CHECK(values(store.get("a", 0)) == values(store.get("a", 1)));
  CHECK(!store.borrowed({"a", 0}).same_as(store.borrowed({"a", 1})));
  CHECK(values(store.get("a")) != values(store.get("b")));
  CHECK(values(store.get("a")) != values(other.get("a")));
  CHECK(store.hash(0) == store.hash(1));
  CHECK(store.hash(0) != other.hash(0));
}

TEST_CASE("the hash counts trained parameters only, and what is there is kept") {
  ParameterStore store(1);
  store.add(parameter("a"));
  store.add(state("a/velocity"));
  const auto start = store.hash();
  CHECK(store.trained_elements() == 4);
  store.set("a/velocity", constant(7.0F));
  CHECK(store.hash() == start);
  store.set("a", constant(1.0F));
  CHECK(store.hash() != start);
  const auto changed = store.hash();
  store.add(parameter("a"));
  CHECK(store.hash() == changed);
}

TEST_CASE("the hash is the xxh3 of the bytes in order") {
  ParameterStore store(0);
  store.add({{"a", 0}, {{2}, DType::float32}, {}, Initializer::constant(1.0), true});
  // xxhsum -H3 of the bytes 00 00 80 3f 00 00 80 3f
  CHECK(store.hash() == "774376da7ad20e6b");
}

TEST_CASE("everything is listed, read and set by name, before it is there too") {
  ParameterStore store(1);
  store.set("b", constant(4.0F));
  for (int replica : {0, 1}) {
    store.add(parameter("b", replica));
    store.add(state("b/velocity", replica));
    store.add(parameter("a", replica));
  }
  const auto entries = store.entries();
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].name == "b");
  CHECK(entries[1].name == "a");
  CHECK(entries[2].name == "b/velocity");
  CHECK_FALSE(entries[2].trainable);
  CHECK(entries[2].copies == 2);
  CHECK(values(store.get("b", 1)) == std::vector<float>(4, 4.0F));
  store.set("b", constant(5.0F));
  CHECK(values(store.get("b", 0)) == std::vector<float>(4, 5.0F));
  CHECK(values(store.get("b", 1)) == std::vector<float>(4, 5.0F));
  const auto copy = store.get("b");
  store.set("b", constant(6.0F));
  CHECK(values(copy) == std::vector<float>(4, 5.0F));
  store.set_position({.step = 7, .epoch = 1, .batch = 2});
  CHECK(store.position() == TrainingPosition{7, 1, 2});
}

TEST_CASE("unknown names, other shapes and dtypes are refused") {
  ParameterStore store(1);
  store.add(parameter("a"));
  CHECK_THROWS_WITH(store.get("b", 0), Contains("'b'"));
  CHECK_THROWS_WITH(store.get("a", 1), Contains("'a' of replica 1"));
  CHECK_THROWS_WITH(store.add(parameter("a", 0, {2, 3})), Contains("is float32[2, 2], not float32[2, 3]"));
  CHECK_THROWS_WITH(store.set("a", Tensor(Shape{4}, DType::float32)), Contains("is float32[2, 2], not float32[4]"));
  CHECK_THROWS_AS(store.set("a", Tensor()), Error);
  store.set("later", constant(1.0F));
  CHECK_THROWS_WITH(store.add(parameter("later", 0, {3})), Contains("was set to float32[2, 2]"));
}

TEST_CASE("names that no file or report can hold are refused") {
  ParameterStore store(1);
  for (const auto& name : {std::string(), std::string("a\nb"), std::string("a\0b", 3), std::string(1 << 20, 'a')}) {
    CHECK_THROWS_WITH(store.add(parameter(name)), Contains("[store]") && Contains("name"));
    CHECK_THROWS_WITH(store.set(name, constant(1.0F)), Contains("[store]") && Contains("name"));
  }
  CHECK(store.names().empty());
}

TEST_CASE("a parameter that cannot be allocated is not there") {
  ParameterStore store(1);
  CHECK_THROWS_AS(store.add(parameter("huge", 0, {std::int64_t{1} << 40, std::int64_t{1} << 10})), Error);
  CHECK(store.entries().empty());
  CHECK_THROWS_AS(store.get("huge"), Error);
  CHECK(store.trained_elements() == 0);
  store.add(parameter("huge"));
  CHECK(store.entries().size() == 1);
}

TEST_CASE("a writer has exclusive access, readers share") {
  ParameterStore store(1);
  store.add(parameter("a"));
  const ParameterRef a{"a", 0};
  {
    auto first = store.borrow({a}, {}, "one", {}), second = store.borrow({a}, {}, "two", {});
    CHECK(values(store.get("a")).size() == 4);
    CHECK_THROWS_WITH(store.borrow({}, {a}, "three", {}), Contains("is being read"));
    CHECK_THROWS_AS(store.set("a", constant(1.0F)), Error);
    first.end_clean();
    second.end_clean();
  }
  auto writer = store.borrow({}, {a}, "the writer", {});
  CHECK_THROWS_WITH(store.get("a"), Contains("'a' of replica 0 is being written by the writer"));
  CHECK_THROWS_AS(store.hash(), Error);
  CHECK_THROWS_AS(store.borrow({a}, {}, "reader", {}), Error);
  CHECK_THROWS_AS(store.borrow({}, {a}, "other writer", {}), Error);
  writer.end_clean();
  CHECK_NOTHROW(store.get("a"));
}

TEST_CASE("a copy that is behind is brought up to date when it is borrowed, and a later replica starts there") {
  ParameterStore store(1);
  for (int replica : {0, 1}) store.add(parameter("a", replica));
  auto lease = store.borrow({}, {{"a", 0}}, "one device", {});
  update(store, {"a", 0}, 3.0F);
  lease.end_clean();
  CHECK(values(store.get("a", 1)) != values(store.get("a", 0)));
  store.add(parameter("a", 2));
  CHECK(values(store.get("a", 2)) == std::vector<float>(4, 3.0F));
  auto both = store.borrow({}, {{"a", 0}, {"a", 1}}, "mirrored", {});
  CHECK(values(store.borrowed({"a", 1})) == std::vector<float>(4, 3.0F));
  both.end_clean();
}

TEST_CASE("a value that may come from another copy is not read while a run writes that copy") {
  ParameterStore store(1);
  for (int replica : {0, 1}) store.add(parameter("a", replica));
  auto lease = store.borrow({}, {{"a", 1}}, "the writer", {});
  update(store, {"a", 1}, 3.0F);
  CHECK_THROWS_WITH(store.get("a"), Contains("'a' of replica 1 is being written by the writer"));
  CHECK_THROWS_WITH(store.hash(), Contains("is being written by the writer"));
  CHECK_THROWS_WITH(store.borrow({{"a", 0}}, {}, "an evaluation", {}), Contains("is being written by the writer"));
  lease.end_clean();
  CHECK(values(store.get("a")) == std::vector<float>(4, 3.0F));
}

TEST_CASE("a copy that is behind is not overwritten while a run reads it") {
  const auto store = std::make_shared<ParameterStore>(1);
  for (int replica : {0, 1}) store->add(parameter("a", replica));
  auto reading = store->borrow({{"a", 0}}, {}, "an evaluation", {});
  const auto before = values(store->borrowed({"a", 0}));
  auto lease = store->borrow({}, {{"a", 1}}, "the writer", {});
  update(*store, {"a", 1}, 3.0F);
  lease.end_clean();
  CHECK_THROWS_WITH(store->borrow({{"a", 0}}, {}, "another one", {}), Contains("'a' of replica 0 is being read"));
  ParameterReader reader(store, {{"a", 0}}, std::chrono::milliseconds(0));
  CHECK_THROWS_WITH(reader.access(), Contains("'a' of replica 0 is being read"));
  CHECK(values(store->borrowed({"a", 0})) == before);
  reading.end_clean();
  CHECK_NOTHROW(reader.access());
  CHECK(values(reader.tensors()[0]) == std::vector<float>(4, 3.0F));
}

TEST_CASE("rows of a copy count apart during a run, and together after it") {
  ParameterStore store(1);
  store.add(parameter("a", 0, {5, 2}));
  const ParameterRef a{"a", 0};
  const auto rows = [&](std::int64_t first, std::int64_t count) { return store.counter(a, RowRange{first, count}); };
  CHECK(values(store.borrowed(a, RowRange{3, 1})) ==
        std::vector<float>{values(store.get("a"))[6], values(store.get("a"))[7]});
  const auto first = rows(0, 2), second = rows(2, 3);
  const std::vector<HeldParameter> held{{a, true, RowRange{0, 2}}, {a, true, RowRange{2, 3}}};
  auto lease = store.borrow({}, {a}, "shards", held);
  for (int i = 0; i < 3; ++i) first->finish_update();
  second->finish_update();
  lease.end_clean();
  CHECK(store.newest_updates("a") == 3);
  lease = store.borrow({}, {a}, "shards", held);
  CHECK(second->updates() == 3);
  second->begin_update();
  lease.end_dirty("the worker failed");
  CHECK_THAT(store.broken(), Contains("replica 0 may be half-written: the worker failed"));
  store.set("a", Tensor({5, 2}, DType::float32));
  lease = store.borrow({}, {a}, "shards", held);
  CHECK_FALSE(second->writing());
  lease.end_clean();
}

TEST_CASE("held copies with equal_updates are all broken if a failed run has updated one of them less often") {
  const auto equal = GENERATE(true, false);
  ParameterStore store(1);
  const ParameterRef a{"a", 0}, b{"b", 0};
  store.add(parameter("a", 0, {5, 2}));
  store.add(parameter("b", 0));
  const std::vector<HeldParameter> held{
      {a, true, RowRange{0, 2}, equal}, {a, true, RowRange{2, 3}, equal}, {b, true, {}, equal}};
  const auto first = store.counter(a, RowRange{0, 2}), second = store.counter(a, RowRange{2, 3});
  for (const bool torn : {false, true}) {
    auto lease = store.borrow({}, {a, b}, "shards", held);
    for (const auto& counter : {first, second, store.counter(b)})
      if (!torn || counter != second) counter->finish_update();
    lease.end_dirty("a run was given up");
    CHECK(store.broken().empty() != (torn && equal));
  }
  if (equal) {
    CHECK_THROWS_AS(store.get("a"), Error);
    CHECK_THROWS_AS(store.get("b"), Error);
  }
}

TEST_CASE("a held copy that needs a whole run is broken if a run that has updated it is given up") {
  for (const bool updated : {false, true})
    for (const bool given_up : {false, true}) {
      ParameterStore store(1);
      const ParameterRef a{"a", 0};
      store.add(parameter("a", 0));
      auto lease = store.borrow({}, {a}, "a worker", {{.ref = a, .written = true, .needs_whole_run = true}});
      if (updated) store.counter(a)->finish_update();
      given_up ? lease.give_up("it was given up") : lease.end_dirty("it has failed");
      CHECK(store.broken().empty() != (updated && given_up));
    }
}

TEST_CASE("a start value that is set again has one update more, so that it is the newest of several processes") {
  ParameterStore store;
  store.set("w", Tensor::scalar(1.0F));
  CHECK(store.newest("w")->updates == 0);
  store.set("w", Tensor::scalar(2.0F));
  CHECK(store.newest("w")->updates == 1);
  CHECK(store.newest("w")->value.item<float>() == 2.0F);
}
