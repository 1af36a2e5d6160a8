// Fits on data with samples that cannot be used.

#include <atomic>
#include <cmath>
#include <memory>
#include <set>

#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/nn/normalization.hpp"
#include "troupe/strategies/local_sgd.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/strategies/step/batch_source.hpp"
#include "troupe/tests/strategies/training/invalid_samples.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

std::vector<std::unique_ptr<Strategy>> synchronous_strategies() {
  std::vector<std::unique_ptr<Strategy>> all;
  all.push_back(std::make_unique<OneDevice>());
  all.push_back(std::make_unique<Mirrored>(cpu_devices(2)));
  all.push_back(std::make_unique<Mirrored>(cpu_devices(3)));
  all.push_back(std::make_unique<ParameterServer>(places_of(cpu_devices(2)), places_of(cpu_devices(1)),
                                                  ConsistencyRule::synchronous(2)));
  return all;
}

/// Makes the batches of a data set, in order, and counts its runs.
class OrderedBatches final : public PortActor {
 public:
  OrderedBatches(caf::actor_config& config, Dataset data, std::shared_ptr<std::atomic<int>> runs)
      : PortActor(config), data_(std::move(data)), runs_(std::move(runs)) {}

 protected:
  void on_run(const RunInfo& run) override {
    ++*runs_;
    batch_ = run.first_batch;
  }
  Next next(std::int64_t) override { return batch_ < data_.batches() ? Next::fire : Next::end; }
  void fire(std::int64_t, std::span<const Tensor>, std::span<Tensor> outputs) override {
    const auto order = data_.order(0, 0);
    const auto rows = std::span(order).subspan(static_cast<std::size_t>(batch_++ * kRowsOfBatch), kRowsOfBatch);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto& info = data_.fields()[i].info;
      outputs[i] = Tensor(info.shape.with_rows(kRowsOfBatch), info.dtype);
      data_.gather(rows, i, outputs[i]);
    }
  }

 private:
  Dataset data_;
  std::shared_ptr<std::atomic<int>> runs_;
  std::int64_t batch_ = 0;
};

/// The numbers of two fits that leave samples out: one of `first_steps` steps, then one of `epochs` epochs. The second
/// fit is stopped after 20 runs. `Data` is a data set or a BatchSource.
template <class Data>
std::vector<std::int64_t> passed_by_fits(const Data& data, const std::atomic<int>& runs, std::int64_t first_steps,
                                         std::int64_t epochs) {
  auto runtime = scheduled_runtime(3, 2);
  const Mirrored strategy(cpu_devices(2));
  auto trainer = small_trainer(runtime, strategy);
  if (first_steps > 0) trainer.fit(data, {.max_steps = first_steps, .on_invalid_sample = InvalidSamples::skip});
  const auto result = trainer.fit(
      data, {.epochs = epochs, .stop_requested = [&] { return runs > 20; }, .on_invalid_sample = InvalidSamples::skip});
  const auto position = trainer.parameters().position();
  CHECK_FALSE(result.stopped);
  return {result.steps, result.skipped_batches, std::ssize(result.epochs), position.epoch, position.batch};
}

}  // namespace

TEST_CASE("the batch of a label that is no class changes nothing, and the next fit goes on after it") {
  const auto rest = rows_without(batch_of(13));
  for (const auto& strategy : synchronous_strategies())
    for (const auto grain : {Grain::fused, Grain::per_op}) {
      auto runtime = scheduled_runtime(3, 3);
      auto expected = small_trainer(runtime, *strategy, {.seed = 3, .grain = grain});
      expected.fit(rest);
      for (const bool skips : {false, true}) {
        auto trainer = small_trainer(runtime, *strategy, {.seed = 3, .grain = grain});
        const auto data = rows_without({}, {13});
        std::vector<std::int64_t> bad;
        if (skips) {
          const auto result = trainer.fit(data, {.on_invalid_sample = InvalidSamples::skip});
          CHECK(result.skipped_batches == 1);
          CHECK(result.steps == kSampleCount / kRowsOfBatch - 1);
          CHECK(result.epochs.size() == 1);
          CHECK(result.epochs.front().complete);
          for (const auto& sample : result.skipped_samples) bad.push_back(sample.sample);
        } else {
          fit_again_and_again(trainer, data, bad);
        }
        CHECK(bad == std::vector<std::int64_t>{13});
        CHECK(trainer.steps() == kSampleCount / kRowsOfBatch - 1);
        CHECK(trainer.parameters().hash() == expected.parameters().hash());
      }
    }
}

TEST_CASE("the row of a sample is its row in the data set, also in shuffled data and after several bad samples") {
  for (const auto& strategy : synchronous_strategies()) {
    auto runtime = scheduled_runtime(3, 3);
    const std::set<std::int64_t> wrong{5, 17, 40};
    auto trainer = small_trainer(runtime, *strategy, {.seed = 11});
    const auto data = rows_without({}, wrong).shuffle(kSampleCount);
    const auto result = trainer.fit(data, {.epochs = 2, .on_invalid_sample = InvalidSamples::skip});
    std::set<std::int64_t> found;
    for (const auto& sample : result.skipped_samples) found.insert(sample.sample);
    for (const auto row : found) CHECK(wrong.contains(row));
    // A batch with two of the samples names one of them; two epochs have other batches.
    CHECK(found.size() >= 2);
    CHECK(result.steps + result.skipped_batches == 2 * kSampleCount / kRowsOfBatch);
    CHECK(result.epochs.size() == 2);
  }
}

TEST_CASE("a bad sample in the first or the last batch, or in all of them, ends no fit that leaves it out") {
  auto runtime = scheduled_runtime(3, 2);
  const Mirrored strategy(cpu_devices(2));
  for (const std::set<std::int64_t>& bad : {std::set<std::int64_t>{0}, {kSampleCount - 1}, {0, 8, 16, 24, 32, 40}}) {
    auto trainer = small_trainer(runtime, strategy);
    const auto result = trainer.fit(rows_without({}, bad), {.epochs = 2, .on_invalid_sample = InvalidSamples::skip});
    const auto skipped = static_cast<std::int64_t>(bad.size());
    CHECK(result.skipped_batches == 2 * skipped);
    CHECK(result.steps == 2 * (kSampleCount / kRowsOfBatch - skipped));
    CHECK(result.epochs.size() == 2);
  }
}

TEST_CASE("a batch of an actor that is left out counts as one of its epoch, as that of a data set does") {
  struct Fits {
    std::int64_t batches, first_steps, epochs;
    std::set<std::int64_t> bad;
  };
  for (const auto& [batches, first_steps, epochs, bad] :
       {Fits{1, 0, 1, {0}}, {1, 0, 3, {0}}, {2, 1, 1, {9}}, {2, 1, 2, {9}}, {2, 0, 2, {0, 9}}, {3, 1, 1, {9, 17}}}) {
    CAPTURE(batches, first_steps, epochs, bad);
    const auto data = rows_without({}, bad).take(batches * kRowsOfBatch);
    const auto runs = std::make_shared<std::atomic<int>>(0);
    const auto source = batch_source<OrderedBatches>("batches", data.fields(), kRowsOfBatch, data, runs);
    CHECK(passed_by_fits(source, *runs, first_steps, epochs) == passed_by_fits(data, {}, first_steps, epochs));
  }
}

TEST_CASE("strategies whose replicas train apart cannot leave samples out") {
  auto runtime = scheduled_runtime(3, 2);
  const LocalSgd local(places_of(cpu_devices(2)), {Place{}}, LocalSgdOptions{.local_steps = 3});
  auto trainer = small_trainer(runtime, local);
  CHECK_THROWS_WITH(trainer.fit(rows_without({}, {13}), {.on_invalid_sample = InvalidSamples::skip}),
                    Contains("[trainer] this strategy cannot leave out samples"));
  CHECK_THROWS_AS(trainer.fit(rows_without({}, {13})), InvalidSample);
}

TEST_CASE("an exception of on_step after a bad sample leaves the batch of the sample to the next fit") {
  auto runtime = scheduled_runtime(3, 2);
  const Mirrored strategy(cpu_devices(2));
  auto trainer = small_trainer(runtime, strategy);
  const auto data = rows_without({}, {13});
  const auto on_step = [](const StepMetrics&) { throw std::runtime_error("the disk is full"); };
  CHECK_THROWS_WITH(trainer.fit(data, {.on_step = on_step, .on_invalid_sample = InvalidSamples::skip}),
                    Contains("the disk is full"));
  CHECK(trainer.steps() == 1);
  const auto rest = trainer.fit(data, {.on_invalid_sample = InvalidSamples::skip});
  CHECK(rest.steps == kSampleCount / kRowsOfBatch - 2);
  CHECK(skipped_rows(rest) == std::vector<std::int64_t>{13});
}

TEST_CASE("a fit whose actors cannot be spawned anew after a bad sample is over, also for on_progress") {
  auto runtime = scheduled_runtime(3, 2);
  const OneDevice strategy;
  bool fails = false;
  const auto model = [&fails, model = small_spec().model](const Inputs& inputs) {
    if (fails) throw Error("model", "cannot be made again");
    return model(inputs);
  };
  Trainer trainer(runtime, strategy, model, Sgd{.lr = 0.1}, SoftmaxCrossEntropy{});
  const auto run = trainer.start(rows_without({}, {13}), {.on_step = [&](const StepMetrics&) { fails = true; },
                                                          .on_invalid_sample = InvalidSamples::skip});
  CHECK_THROWS_WITH(run->wait(), Contains("cannot be made again"));
  int calls = 0;
  run->on_progress([&] { ++calls; });
  CHECK(calls == 1);
  CHECK(run->advance());
}

TEST_CASE("a bad label changes no buffer of any replica, also if finiteness is not checked") {
  const Model model = Sequential{Flatten{}, BatchNorm{}, Dense{2}};
  for (const int replicas : {1, 2})
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      auto runtime = scheduled_runtime(seed, 2);
      const Mirrored strategy(cpu_devices(replicas));
      const TrainerOptions options{.seed = 3, .grain = Grain::per_op, .check_finite = false};
      Trainer expected(runtime, strategy, model, Sgd{.lr = 0.1}, SoftmaxCrossEntropy{}, options);
      expected.fit(rows_without(batch_of(13)));
      Trainer trainer(runtime, strategy, model, Sgd{.lr = 0.1}, SoftmaxCrossEntropy{}, options);
      const auto result = trainer.fit(rows_without({}, {13}), {.on_invalid_sample = InvalidSamples::skip});
      CHECK(result.skipped_batches == 1);
      CHECK(trainer.parameters().hash() == expected.parameters().hash());
    }
}

TEST_CASE("a fit on a device with memory of its own cannot leave samples out") {
  auto runtime = scheduled_runtime(3, 2);
  const OneDevice strategy(Device{DeviceType::test, 0});
  auto trainer = small_trainer(runtime, strategy);
  CHECK_THROWS_WITH(trainer.fit(rows_without({}), {.on_invalid_sample = InvalidSamples::skip}),
                    Contains("[trainer] a fit on test:0 cannot leave out samples"));
}
