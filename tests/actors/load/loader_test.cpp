#include "troupe/actors/load/loader.hpp"

#include <algorithm>
#include <set>

#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/batch_info.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

struct Seen {
  std::vector<BatchInfo> infos;
  std::vector<std::vector<float>> firsts;  // first feature of every row, by batch
};

/// Ten rows whose features are their number, through the loader of one of several replicas.
Seen load(const Dataset& data, int replicas, int replica, std::int64_t epoch, std::uint64_t seed = 9,
          std::int64_t first_batch = 0) {
  Seen seen;
  Plan plan;
  plan.max_rows = part_of_batch(data.batch_rows(), replicas, 0).rows;
  const std::vector<std::string> fields{"labels", "features"};
  const auto loader = add_loader(plan, "data", data, fields, 4, replicas, replica, {});
  PlanActor sink{.name = "sink", .role = ActorRole::sink};
  sink.make_task = function_task([&](const Firing& firing) {
    seen.infos.push_back(BatchInfo::read(firing.inputs[2]));
    auto& firsts = seen.firsts.emplace_back();
    for (std::int64_t row = 0; row < seen.infos.back().rows; ++row) {
      firsts.push_back(firing.inputs[1].data<float>()[row * 2]);
      CHECK(firing.inputs[0].data<std::int32_t>()[row] == static_cast<std::int32_t>(firsts.back()) % 3);
    }
  });
  const auto id = plan.add(sink);
  for (std::int32_t output = 0; output < 3; ++output) plan.connect(loader, output, id);
  auto runtime = scheduled_runtime(seed);
  SpawnedPlan spawned(runtime, seed % 2 == 0 ? fuse(plan) : split(plan), context_for(data));
  spawned.start({100, 1000, epoch, first_batch});
  spawned.wait();
  return seen;
}

Dataset ten_rows() {
  Tensor features(Shape{10, 2}, DType::float32), labels(Shape{10}, DType::int32);
  for (std::int64_t row = 0; row < 10; ++row) {
    features.mutable_data<float>()[row * 2] = static_cast<float>(row);
    labels.mutable_data<std::int32_t>()[row] = static_cast<std::int32_t>(row % 3);
  }
  return Dataset(features, labels, 3);
}

using Rows = std::vector<std::vector<float>>;
using Infos = std::vector<BatchInfo>;

}  // namespace

TEST_CASE("a loader keeps the uneven last batch and says what part of it has which rows") {
  const auto seen = load(ten_rows().batch(4), 1, 0, 0);
  CHECK(seen.firsts == Rows{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}});
  CHECK(seen.infos == Infos{{4, 4, 0, 100}, {4, 4, 0, 101}, {2, 2, 0, 102}});
}

TEST_CASE("replicas load their parts, the last perhaps nothing") {
  const auto data = ten_rows().take(8).batch(4);
  CHECK(load(data, 3, 0, 0).firsts == Rows{{0, 1}, {4, 5}});
  CHECK(load(data, 3, 1, 0).firsts == Rows{{2, 3}, {6, 7}});
  const auto last = load(data, 3, 2, 0);
  CHECK(last.firsts == Rows{{}, {}});
  CHECK(last.infos == Infos{{0, 4, 4, 100}, {0, 4, 4, 101}});
}

TEST_CASE("shuffled parts of all replicas together are every row once, and prefetching changes nothing") {
  const auto data = ten_rows().shuffle(10).batch(4);
  std::multiset<float> rows;
  for (int replica : {0, 1})
    for (const auto& batch : load(data, 2, replica, 3).firsts) rows.insert(batch.begin(), batch.end());
  CHECK(rows == std::multiset<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(load(data, 1, 0, 3).firsts != load(data, 1, 0, 4).firsts);
  for (std::uint64_t seed = 0; seed < schedules(8); ++seed)
    CHECK(load(data.prefetch(3), 1, 0, 3, seed).firsts == load(data, 1, 0, 3).firsts);
}

TEST_CASE("a run can begin at any batch of an epoch") {
  const auto data = ten_rows().shuffle(10).batch(4);
  const auto whole = load(data, 2, 1, 5).firsts;
  REQUIRE(whole.size() == 3);
  for (std::int64_t first = 0; first <= 3; ++first) {
    const auto seen = load(data, 2, 1, 5, 9, first);
    CHECK(seen.firsts == Rows(whole.begin() + first, whole.end()));
    if (first < 3) CHECK(seen.infos[0].step == 100);
  }
}

TEST_CASE("a loader loads the fields it is asked for, of any dtype") {
  const auto data = Dataset::from_arrays({{"a", Tensor::from<std::int64_t>({2}, std::vector<std::int64_t>{7, 8})},
                                          {"b", Tensor::from<std::uint8_t>({2}, std::vector<std::uint8_t>{1, 2})}});
  Plan plan;
  const auto loader = add_loader(plan, "data", data, std::vector<std::string>{"b"}, 0, 1, 0, {});
  const auto& outputs = plan.actors[loader].outputs;
  REQUIRE(outputs.size() == 2);
  CHECK(outputs[0].info == TensorInfo{Shape{kBatch}, DType::uint8});
  CHECK(outputs[1].info == BatchInfo::info());
  CHECK_THROWS_WITH(add_loader(plan, "data", data, std::vector<std::string>{"c"}, 0, 1, 0, {}),
                    Contains("no field 'c' among 'a' int64[B], 'b' uint8[B]"));
}
