#include "troupe/actors/shard/update_count.hpp"

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/store/lease.hpp"
#include "troupe/tests/catch.hpp"

using namespace troupe;

namespace {

const ParameterRef kCount{UpdateCount::kOfGradients, 0};

UpdateCount count_in(const ParameterStore& store) {
  return UpdateCount::read(store.get(kCount.name));
}

}  // namespace

TEST_CASE("a count keeps its number of updates when a step is noted, also a large one") {
  ParameterStore store;
  UpdateCount::note_step(store, kCount.name, 5);
  CHECK(store.names().empty());
  store.add({kCount, UpdateCount::info(), Device{}, Initializer::zeros()});
  constexpr std::int64_t kLarge = (std::int64_t{1} << 30) + 1;
  const Tensor state(UpdateCount::info().shape, UpdateCount::info().dtype);
  UpdateCount{.updates = kLarge, .step = 3}.write(state);
  store.set(kCount.name, state);
  UpdateCount::note_step(store, kCount.name, kLarge + 1);
  CHECK(count_in(store).updates == kLarge);
  CHECK(count_in(store).step == kLarge + 1);
}

TEST_CASE("a broken count becomes one that no run continues") {
  ParameterStore store;
  store.add({kCount, UpdateCount::info(), Device{}, Initializer::zeros()});
  store.borrow({}, {kCount}, "a run", {}).abandon("it hangs");
  REQUIRE_FALSE(store.broken().empty());
  UpdateCount::note_step(store, kCount.name, 5);
  CHECK(store.broken().empty());
  CHECK(count_in(store).step == -1);
}
