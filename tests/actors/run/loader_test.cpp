#include "troupe/actors/run/loader.hpp"

#include <algorithm>
#include <set>

#include "troupe/actors/run/spawned_plan.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

struct Seen {
  std::vector<std::vector<std::int64_t>> infos;
  std::vector<std::vector<float>> firsts;  // first feature of every row, by batch
};

/// Ten rows whose features are their number, through the loader of one of several replicas.
Seen load(const Dataset& data, int replicas, int replica, std::int64_t epoch, std::uint64_t seed = 9) {
  Seen seen;
  Plan plan;
  plan.max_rows = part_of_batch(data.batch_rows(), replicas, 0).rows;
  const auto loader = add_loader(plan, data, 4, replicas, replica, {});
  PlanActor sink{.name = "sink", .role = ActorRole::sink};
  sink.make_task = function_task([&](const Firing& firing) {
    const auto info = firing.inputs[kBatchInfo].data<std::int64_t>();
    seen.infos.emplace_back(info.begin(), info.end());
    auto& firsts = seen.firsts.emplace_back();
    for (std::int64_t row = 0; row < info[0]; ++row) {
      firsts.push_back(firing.inputs[kFeatures].data<float>()[row * 2]);
      CHECK(firing.inputs[kLabels].data<std::int32_t>()[row] == static_cast<std::int32_t>(firsts.back()) % 3);
    }
  });
  const auto id = plan.add(sink);
  for (std::int32_t output = 0; output < 3; ++output) plan.connect(loader, output, id);
  auto runtime = scheduled_runtime(seed);
  SpawnedPlan spawned(runtime, seed % 2 == 0 ? fuse(plan) : split(plan));
  spawned.start({100, 1000, epoch});
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
using Infos = std::vector<std::vector<std::int64_t>>;

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
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    CHECK(load(data.prefetch(3), 1, 0, 3, seed).firsts == load(data, 1, 0, 3).firsts);
}
