#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/store/lease.hpp"
#include "troupe/actors/store/update_counter.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

const std::vector<ParameterRef> kBoth{{"v", 0}, {"w", 0}};

Tensor one_value(float value) {
  return Tensor::from<float>({1}, std::vector<float>{value});
}

Stores two_stores() {
  Stores stores{std::make_shared<ParameterStore>(1), std::make_shared<ParameterStore>(1)};
  for (const auto& store : stores)
    for (const auto& ref : kBoth) store->add({ref, {Shape{1}, DType::float32}, {}, Initializer::constant(0.0), true});
  return stores;
}

float value_of(const std::shared_ptr<ParameterStore>& store, const std::string& name) {
  return store->get(name).data<float>()[0];
}

/// A run that updates both parameters and fails; if `torn`, in between.
void fail(ParameterStore& store, float value, bool torn) {
  auto lease = store.borrow({}, kBoth, "a run", {});
  for (std::size_t i = 0; i < (torn ? 1 : 2); ++i) {
    store.counter(kBoth[i])->begin_update();
    store.borrowed(kBoth[i]).mutable_data<float>()[0] = value;
    store.counter(kBoth[i])->finish_update();
  }
  lease.end_dirty("[op] broke");
}

}  // namespace

TEST_CASE("the newest value of any part is brought to the others, also one that was set before it was there") {
  auto stores = two_stores();
  stores[1]->set("w", one_value(3.0F));
  stores[0]->set("later", one_value(4.0F));
  synchronize(stores);
  CHECK(value_of(stores[0], "w") == 3.0F);
  CHECK(value_of(stores[0], "v") == 0.0F);
  stores[1]->add({{"later", 0}, {Shape{1}, DType::float32}, {}, Initializer::zeros(), true});
  CHECK(value_of(stores[1], "later") == 4.0F);
}

TEST_CASE("a part whose copies are broken goes on from another part") {
  auto stores = two_stores();
  fail(*stores[0], 5.0F, false);
  fail(*stores[1], 7.0F, true);
  CHECK(stores[0]->broken().empty());
  CHECK_FALSE(stores[1]->broken().empty());
  synchronize(stores);
  CHECK_THROWS_AS(stores[1]->get("v"), Error);
  recover(stores);
  CHECK(value_of(stores[1], "v") == 5.0F);
  CHECK(value_of(stores[1], "w") == 5.0F);
}

TEST_CASE("where no part is whole there is nothing to go on from") {
  auto stores = two_stores();
  fail(*stores[0], 5.0F, true);
  fail(*stores[1], 7.0F, true);
  CHECK_THROWS_WITH(recover(stores), Contains("no replica is whole"));
}
