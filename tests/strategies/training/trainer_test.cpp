#include "troupe/strategies/training/trainer.hpp"

#include <cmath>
#include <fstream>
#include <limits>

#include "troupe/actors/plan/segment_layout.hpp"
#include "troupe/ops/core/allocator.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/matmul.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/one_device.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

std::vector<Device> devices(int count) {
  std::vector<Device> list;
  for (int i = 0; i < count; ++i) list.push_back({DeviceType::cpu, i});
  return list;
}

Trainer make_trainer(Runtime& runtime, const Strategy& strategy, TrainerOptions options = {},
                     Optimizer optimizer = Sgd{.lr = 0.1, .momentum = 0.5}) {
  return Trainer(runtime, strategy, small_spec().model, std::move(optimizer), SoftmaxCrossEntropy{}, options);
}

struct Outcome {
  std::vector<double> losses;
  std::string hash;
  std::string momentum_hash;

  bool operator==(const Outcome&) const = default;
};

Outcome train(Runtime& runtime, const Strategy& strategy, const Dataset& data, Grain grain, std::int64_t epochs = 2,
              Optimizer optimizer = Sgd{.lr = 0.1, .momentum = 0.5}) {
  auto trainer = make_trainer(runtime, strategy, {.seed = 3, .grain = grain}, std::move(optimizer));
  Outcome outcome;
  trainer.fit(data,
              {.epochs = epochs, .on_step = [&](const StepMetrics& step) { outcome.losses.push_back(step.loss); }});
  outcome.hash = trainer.parameters().hash(0);
  for (int replica = 1; replica < strategy.num_replicas_in_sync(); ++replica)
    CHECK(trainer.parameters().hash(replica) == outcome.hash);
  return outcome;
}

const Dataset& data_of_50() {
  static const auto data = small_dataset(50).shuffle(50).batch(16);
  return data;
}

/// Forty rows; those from 20 on are broken.
Dataset broken_data() {
  Tensor features(Shape{40, 4, 3}, DType::float32), labels(Shape{40}, DType::int32);
  for (std::int64_t i = 0; i < features.elements(); ++i)
    features.mutable_data<float>()[i] = i < 20 * 12 ? 0.5F : std::numeric_limits<float>::quiet_NaN();
  return Dataset(features, labels, 2).batch(8);
}

}  // namespace

TEST_CASE("the same bits from every schedule, both grains, any number of threads, with and without prefetch") {
  for (int replicas : {1, 2, 3}) {
    const auto strategy = replicas == 1
                              ? std::unique_ptr<Strategy>(std::make_unique<OneDevice>())
                              : std::make_unique<Mirrored>(
                                    devices(replicas), MirroredOptions{.first_bucket_bytes = 64, .bucket_bytes = 64});
    Runtime threads({.workers = 2, .cpu_devices = replicas});
    const auto expected = train(threads, *strategy, data_of_50(), Grain::fused);
    CHECK(expected.losses.size() == 8);
    CHECK(train(threads, *strategy, data_of_50(), Grain::per_op) == expected);
    Runtime one_thread({.workers = 1, .cpu_devices = replicas, .own_threads = false});
    CHECK(train(one_thread, *strategy, data_of_50(), Grain::fused) == expected);
    for (std::uint64_t seed = 0; seed < 25; ++seed) {
      auto runtime = scheduled_runtime(seed, replicas);
      const auto data = seed % 3 == 0 ? data_of_50().prefetch(2) : data_of_50();
      CHECK(train(runtime, *strategy, data, seed % 2 == 0 ? Grain::per_op : Grain::fused) == expected);
    }
  }
}

TEST_CASE("mirrored replicas do what one device does, uneven and empty parts included, whatever the buckets") {
  auto runtime = scheduled_runtime(1, 5);
  const std::vector<Optimizer> optimizers{Sgd{.lr = 0.1, .momentum = 0.5}, Adam{.lr = 0.01},
                                          Sgd{.lr = 0.1, .weight_decay = 0.01, .clip_norm = 0.05}};
  for (const auto& optimizer : optimizers) {
    const auto one = train(runtime, OneDevice(), data_of_50(), Grain::fused, 5, optimizer);
    for (int replicas : {1, 2, 3, 5}) {
      std::string hash;
      for (std::int64_t bucket : {1, 100, 1 << 20}) {
        const auto many =
            train(runtime, Mirrored(devices(replicas), {.first_bucket_bytes = bucket, .bucket_bytes = bucket}),
                  data_of_50(), Grain::fused, 5, optimizer);
        REQUIRE(many.losses.size() == one.losses.size());
        for (std::size_t i = 0; i < one.losses.size(); ++i)
          CHECK(many.losses[i] == Approx(one.losses[i]).epsilon(1e-4));
        CHECK((hash.empty() || many.hash == hash));
        hash = many.hash;
      }
    }
  }
}

TEST_CASE("training learns, evaluation and prediction agree") {
  auto runtime = scheduled_runtime(1, 3);
  const auto data = small_dataset(90).shuffle(90).batch(16);
  const Mirrored strategy(devices(3));
  auto trainer = make_trainer(runtime, strategy);
  const auto before = trainer.evaluate(data.batch(7));
  const auto result = trainer.fit(data, {.epochs = 30});
  const auto after = trainer.evaluate(data.batch(7));
  CHECK(result.steps == 30 * 6);
  CHECK(result.rows == 30 * 90);
  CHECK(result.epochs.size() == 30);
  CHECK(after.rows == 90);
  CHECK(after.loss < 0.5 * before.loss);
  CHECK(after["accuracy"] > 0.9);

  const auto logits = trainer.predict(data.batch(13));
  CHECK(logits.shape() == Shape{90, 2});
  Tensor features(Shape{90, 4, 3}, DType::float32), labels(Shape{90}, DType::int32);
  std::vector<std::int32_t> all(90);
  for (std::int32_t i = 0; i < 90; ++i) all[i] = i;
  data.gather(all, 0, features);
  data.gather(all, 1, labels);
  int correct = 0;
  for (int row = 0; row < 90; ++row) {
    const auto* row_logits = logits.data<float>().data() + 2 * row;
    correct += (row_logits[1] > row_logits[0] ? 1 : 0) == labels.data<std::int32_t>()[row] ? 1 : 0;
  }
  CHECK(correct == std::lround(after["accuracy"] * 90));
}

TEST_CASE("evaluating in between does not disturb training, and fits go on where the last one ended") {
  auto runtime = scheduled_runtime(1, 2);
  const Mirrored strategy(devices(2));
  const auto expected = train(runtime, strategy, data_of_50(), Grain::fused, 4);
  auto trainer = make_trainer(runtime, strategy, {.seed = 3});
  for (int epoch = 0; epoch < 4; ++epoch) {
    trainer.fit(data_of_50());
    trainer.evaluate(data_of_50());
  }
  CHECK(trainer.steps() == 16);
  CHECK(trainer.parameters().hash() == expected.hash);
}

TEST_CASE("a trainer goes on with the parameters of another, under another strategy") {
  auto runtime = scheduled_runtime(1, 3);
  const OneDevice one;
  const Mirrored three(devices(3));
  auto first = make_trainer(runtime, one);
  first.fit(data_of_50());
  auto second = make_trainer(runtime, three, {.parameters = first.shared_parameters()});
  CHECK(second.evaluate(data_of_50()).loss == Approx(first.evaluate(data_of_50()).loss));
  second.fit(data_of_50());
  for (int replica : {1, 2}) CHECK(second.parameters().hash(replica) == second.parameters().hash(0));
}

TEST_CASE("fewer steps, no epochs, and a stop that is asked for") {
  auto runtime = scheduled_runtime(2, 2);
  const Mirrored strategy(devices(2));
  auto trainer = make_trainer(runtime, strategy);
  CHECK(trainer.fit(data_of_50(), {.epochs = 9, .max_steps = 6}).steps == 6);
  CHECK(trainer.fit(data_of_50(), {.epochs = 0}).steps == 0);
  CHECK_THROWS_AS(trainer.fit(data_of_50(), {.epochs = -1}), Error);
  CHECK_THROWS_WITH(trainer.fit(data_of_50().take(0)), Contains("no data"));
  CHECK(trainer.evaluate(data_of_50().take(0)).rows == 0);
  Runtime threads({.cpu_devices = 2});
  auto endless = make_trainer(threads, strategy);
  const auto result = endless.fit(data_of_50(), {.epochs = 1'000'000, .stop_requested = [&] { return true; }});
  CHECK(result.stopped);
  CHECK(endless.parameters().hash(0) == endless.parameters().hash(1));
}

TEST_CASE("a fit that is stopped in mid-epoch goes on there, to the same bits") {
  for (int replicas : {1, 2, 3}) {
    auto runtime = scheduled_runtime(3, replicas);
    const Mirrored strategy(devices(replicas));
    const auto expected = train(runtime, strategy, data_of_50(), Grain::fused, 3);
    // An epoch has 4 steps.
    for (const std::vector<std::int64_t>& parts : {std::vector<std::int64_t>{1, 2, 3, 6}, {5, 7}, {4, 8}, {11, 1}}) {
      auto trainer = make_trainer(runtime, strategy, {.seed = 3});
      std::vector<double> losses;
      for (const auto steps : parts)
        trainer.fit(data_of_50(), {.epochs = 9, .max_steps = steps, .on_step = [&](const StepMetrics& step) {
                                     CHECK(step.step == static_cast<std::int64_t>(losses.size()));
                                     losses.push_back(step.loss);
                                   }});
      CHECK(losses == expected.losses);
      CHECK(trainer.parameters().hash() == expected.hash);
    }
  }
}

TEST_CASE("a run that has ended before it is asked to call back calls back at once") {
  auto runtime = scheduled_runtime(3, 1);
  const OneDevice strategy;
  auto trainer = make_trainer(runtime, strategy);
  const auto run = trainer.start(data_of_50());
  while (runtime.run_one()) continue;
  int calls = 0;
  run->on_progress([&] { ++calls; });
  CHECK(calls == 1);
  CHECK(run->advance());
  CHECK(run->result().steps == 4);
}

TEST_CASE("the rest of an epoch counts as one; other data begins a new one") {
  auto runtime = scheduled_runtime(3, 2);
  const Mirrored strategy(devices(2));
  auto trainer = make_trainer(runtime, strategy);
  CHECK_FALSE(trainer.fit(data_of_50(), {.epochs = 5, .max_steps = 3}).epochs.at(0).complete);
  const auto rest = trainer.fit(data_of_50(), {.epochs = 2});
  CHECK(rest.steps == 1 + 4);
  CHECK(rest.rows == 2 + 50);
  CHECK(rest.epochs.at(0).complete);
  CHECK(rest.epochs.at(1).epoch == 1);
  trainer.fit(data_of_50(), {.max_steps = 1});
  const auto other = trainer.fit(data_of_50().batch(10));
  CHECK(other.steps == 5);
  CHECK(other.epochs.at(0).epoch == 3);
}

TEST_CASE("a stop that is asked for loses no batch") {
  Runtime threads({.cpu_devices = 2});
  const Mirrored strategy(devices(2));
  auto trainer = make_trainer(threads, strategy, {.seed = 3});
  const auto first = trainer.fit(data_of_50(), {.epochs = 1'000'000, .stop_requested = [&] { return true; }});
  CHECK(first.stopped);
  const auto epochs = trainer.steps() / 4 + 1;
  trainer.fit(data_of_50(), {.epochs = 1'000'000, .max_steps = 4 * epochs - trainer.steps()});
  CHECK(trainer.steps() == 4 * epochs);
  auto whole = make_trainer(threads, strategy, {.seed = 3});
  whole.fit(data_of_50(), {.epochs = epochs});
  CHECK(whole.parameters().hash() == trainer.parameters().hash());
}

TEST_CASE("a loss that is not finite ends the fit with op, step and replica, before any update") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    auto runtime = scheduled_runtime(seed, 2);
    const Mirrored strategy(devices(2));
    auto trainer = make_trainer(runtime, strategy, {.grain = seed % 2 == 0 ? Grain::per_op : Grain::fused});
    // Of step 2, rows 16 to 23, the second replica has the broken half.
    CHECK_THROWS_WITH(
        trainer.fit(broken_data(), {.epochs = 5}),
        Contains("[check_finite] the value is") && Contains("(op loss.check_finite@1, step 2, replica 1)"));
    for (const auto& entry : trainer.parameters().entries()) {
      const auto tensor = trainer.parameters().get(entry.name);
      for (auto value : tensor.data<float>()) CHECK(std::isfinite(value));
    }
    CHECK(trainer.parameters().hash(0) == trainer.parameters().hash(1));
  }
}

TEST_CASE("on one device too no update follows a step that failed, whatever the grain and the schedule") {
  std::string expected;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    auto runtime = scheduled_runtime(seed, 1);
    const OneDevice strategy;
    auto trainer = make_trainer(runtime, strategy, {.grain = seed % 2 == 0 ? Grain::per_op : Grain::fused});
    // Rows 20 to 23 of step 2 are broken; the steps after it too.
    CHECK_THROWS_WITH(trainer.fit(broken_data(), {.epochs = 5}), Contains("step 2, replica 0"));
    if (expected.empty()) expected = trainer.parameters().hash();
    CHECK(trainer.parameters().hash() == expected);
  }
}

TEST_CASE("ops that read only parameters, and parameters that are read twice, train alike in both grains") {
  // The first product's weights come from parameters alone; the second's are used twice, so their gradient is a sum.
  const auto model = [](Value x) {
    x = Flatten{}(x);
    const auto u = x.builder().parameter("u", {12, 8}, Initializer::glorot_uniform());
    const auto v = x.builder().parameter("v", {12, 8}, Initializer::glorot_uniform());
    const auto w = x.builder().parameter("w", {8, 2}, Initializer::glorot_uniform());
    const auto hidden = relu(matmul(x, add(u, scale(v, 0.5))));
    return add(matmul(hidden, w), matmul(scale(hidden, 0.1), w));
  };
  for (int replicas : {1, 2}) {
    std::string expected;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      auto runtime = scheduled_runtime(seed, replicas);
      const Mirrored strategy(devices(replicas), {.first_bucket_bytes = 1, .bucket_bytes = 1});
      Trainer trainer(runtime, strategy, model, Sgd{.lr = 0.1}, SoftmaxCrossEntropy{},
                      {.grain = seed % 2 == 0 ? Grain::per_op : Grain::fused});
      const auto data = seed % 3 == 0 ? data_of_50().prefetch(2) : data_of_50();
      trainer.fit(data, {.epochs = 2});
      CHECK(trainer.evaluate(data).rows == 50);
      if (expected.empty()) expected = trainer.parameters().hash();
      CHECK(trainer.parameters().hash() == expected);
    }
  }
}

TEST_CASE("models that do not fit are refused when the graph is built") {
  auto runtime = scheduled_runtime(0);
  const OneDevice strategy;
  const auto fit = [&](Model model) {
    Trainer trainer(runtime, strategy, std::move(model), Sgd{.lr = 0.1}, SoftmaxCrossEntropy{});
    trainer.fit(data_of_50());
  };
  CHECK_THROWS_WITH(fit(Sequential{Dense{2}}), Contains("[dense]") && Contains("float32[B, 4, 3]"));
  CHECK_THROWS_WITH(fit(Sequential{Conv2d{4, 3}}), Contains("[conv2d]"));
  CHECK_THROWS_WITH(fit(Sequential{Flatten{}, Dense{0}}), Contains("[dense]"));
  CHECK_THROWS_WITH(fit([](Value x) { return Flatten{}(x); }), Contains("no parameters"));
  CHECK_THROWS_AS(Mirrored(devices(0)), Error);
  CHECK_THROWS_AS(Mirrored(devices(2), {.bucket_bytes = 0}), Error);
}

TEST_CASE("memory is what the plan said and does not grow with the steps") {
  for (const auto grain : {Grain::fused, Grain::per_op}) {
    Runtime runtime({.workers = 2, .cpu_devices = 2});
    const Mirrored strategy(devices(2));
    auto trainer = make_trainer(runtime, strategy, {.grain = grain});
    const auto data = small_dataset(64).batch(16);
    const auto before = cpu_allocator()->bytes_in_use();
    const auto predicted = memory_of(trainer.training_plan(data));
    cpu_allocator()->reset_peak();
    trainer.fit(data, {.epochs = 2});
    const auto short_peak = cpu_allocator()->peak_bytes();
    CHECK(static_cast<double>(short_peak - before) == Approx(predicted.total()).epsilon(0.1));
    trainer.fit(data, {.epochs = 500});
    // The actors of the first fit may free their last tensors while those of the second start.
    CHECK(static_cast<double>(cpu_allocator()->peak_bytes()) <= 1.1 * static_cast<double>(short_peak));
  }
}

// The sanitizers keep freed memory for a while.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("the process does not grow over 10,000 steps") {
  const auto resident_pages = [] {
    std::int64_t total = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> total >> resident;
    return resident;
  };
  for (const auto grain : {Grain::fused, Grain::per_op}) {
    Runtime runtime({.workers = 2, .cpu_devices = 2});
    const Mirrored strategy(devices(2));
    auto trainer = make_trainer(runtime, strategy, {.grain = grain});
    const auto data = small_dataset(64).batch(16).shuffle(64);
    trainer.fit(data, {.epochs = 250});
    const auto before = resident_pages();
    trainer.fit(data, {.epochs = 2500});
    CHECK(trainer.steps() == 11'000);
    CHECK(resident_pages() - before < 512);
  }
}
#endif
