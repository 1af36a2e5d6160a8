#include "troupe/actors/shard/batch_dispatcher.hpp"

#include <algorithm>
#include <map>

#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// A batch that a worker got.
struct Taken {
  BatchInfo batch;
  std::vector<std::int32_t> samples;
};

/// Takes batches, and refuses all after the first `most`, like a worker that is lost.
class Taker final : public PortActor {
 public:
  Taker(caf::actor_config& config, std::vector<Taken>* taken, std::size_t most)
      : PortActor(config), taken_(taken), most_(most) {}

 private:
  void advance() override {
    while (has(0) && has(1)) {
      auto samples = take(0), info = take(1);
      if (taken_->size() >= most_) {
        refuse(0, samples);
        refuse(1, info);
        continue;
      }
      const auto numbers = samples.tensor.data<std::int32_t>();
      taken_->push_back({BatchInfo::read(info.tensor), {numbers.begin(), numbers.end()}});
      give_back(0, samples);
      give_back(1, info);
    }
  }

  std::vector<Taken>* taken_;
  std::size_t most_;
};

constexpr int kWorkers = 3;

/// Runs some epochs and returns the batches of each worker. `most` limits the last worker.
std::vector<std::vector<Taken>> dispatch_epochs(const Dataset& data, Dispatch dispatch, std::uint64_t seed, int epochs,
                                                std::size_t most) {
  std::vector<std::vector<Taken>> taken(kWorkers);
  auto runtime = scheduled_runtime(seed);
  Plan plan;
  plan.max_rows = data.batch_rows();
  const auto dispatcher = add_dispatcher(plan, "data", data, 9, kWorkers, dispatch, {});
  for (int worker = 0; worker < kWorkers; ++worker) {
    ExternalPorts ports{.inputs = {{Shape{kBatch}, DType::int32}, BatchInfo::info()}, .rule = FiringRule::own};
    const auto limit = worker == kWorkers - 1 ? most : std::size_t{1'000};
    auto taker = external<Taker>("taker@" + std::to_string(worker), std::move(ports),
                                 &taken[static_cast<std::size_t>(worker)], limit);
    const auto id = plan.add(std::move(taker));
    plan.connect(dispatcher, 2 * worker, id);
    plan.connect(dispatcher, 2 * worker + 1, id);
  }
  SpawnedPlan spawned(runtime, split(plan), context_for(data));
  const auto part = part_of_batch(data.batch_rows(), kWorkers, 0).rows;
  const auto steps = data.batch(dispatch == Dispatch::parts ? data.batch_rows() : part).batches();
  for (int epoch = 0; epoch < epochs; ++epoch) {
    spawned.start({.first_step = epoch * steps, .epoch = epoch});
    spawned.wait();
  }
  return taken;
}

}  // namespace

TEST_CASE("in parts, every worker gets its part of every batch, in order") {
  const auto data = small_dataset(50).shuffle(50).batch(8);
  const auto taken = dispatch_epochs(data, Dispatch::parts, 3, 2, 1'000);
  for (std::size_t worker = 0; worker < kWorkers; ++worker) {
    REQUIRE(taken[worker].size() == 2 * 7);
    for (std::size_t i = 0; i < taken[worker].size(); ++i) {
      const auto& [batch, samples] = taken[worker][i];
      const auto rows = i % 7 == 6 ? 2 : 8;
      CHECK(batch.step == static_cast<std::int64_t>(i));
      CHECK(batch.global_rows == rows);
      const auto part = part_of_batch(rows, kWorkers, static_cast<int>(worker));
      CHECK(batch.rows == part.rows);
      CHECK(batch.first_row == part.first);
      const auto order = data.order(9, static_cast<std::int64_t>(i) / 7);
      const auto first = order.begin() + static_cast<std::ptrdiff_t>(i % 7 * 8) + part.first;
      CHECK(std::ranges::equal(samples, std::span(first, first + part.rows)));
    }
  }
}

TEST_CASE("to the first free worker, every sample goes once an epoch") {
  const auto dispatch = GENERATE(Dispatch::first_free, Dispatch::until_used);
  const auto data = small_dataset(50).shuffle(50).batch(12);
  for (std::uint64_t seed = 0; seed < schedules(30); ++seed) {
    // One worker takes a few batches and refuses the rest, which go to the others.
    const std::size_t most = dispatch == Dispatch::until_used ? uniform_below(6, seed, 1, 1) : 1'000;
    const auto taken = dispatch_epochs(data, dispatch, seed, 2, most);
    std::map<std::int32_t, int> times;
    std::vector<std::int64_t> steps;
    for (const auto& of_worker : taken)
      for (const auto& [batch, samples] : of_worker) {
        CHECK(batch.rows == batch.global_rows);
        CHECK(batch.rows == static_cast<std::int64_t>(samples.size()));
        CHECK(batch.rows <= 4);
        steps.push_back(batch.step);
        for (const auto sample : samples) ++times[sample];
      }
    std::ranges::sort(steps);
    CHECK(steps.size() == 2 * 13);
    CHECK(std::ranges::adjacent_find(steps) == steps.end());
    CHECK(times.size() == 50);
    for (const auto& [sample, count] : times) CHECK(count == 2);
  }
}
