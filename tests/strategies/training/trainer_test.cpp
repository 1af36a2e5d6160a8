#include "troupe/strategies/training/trainer.hpp"

#include <cfenv>
#include <cmath>
#include <fstream>
#include <limits>

#include "troupe/actors/plan/plan_memory.hpp"
#include "troupe/ops/core/allocator.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/strategies/training/predictor.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("the same bits from every schedule, both grains, any number of threads, with and without prefetch") {
  for (int replicas : {1, 2, 3}) {
    const auto strategy =
        replicas == 1 ? std::unique_ptr<Strategy>(std::make_unique<OneDevice>())
                      : std::make_unique<Mirrored>(cpu_devices(replicas),
                                                   MirroredOptions{.first_bucket_bytes = 64, .bucket_bytes = 64});
    Runtime threads({.workers = 2, .cpu_devices = replicas});
    const auto expected = train(threads, *strategy, data_of_50(), Grain::fused);
    CHECK(expected.losses.size() == 8);
    CHECK(train(threads, *strategy, data_of_50(), Grain::per_op) == expected);
    Runtime one_thread({.workers = 1, .cpu_devices = replicas, .own_threads = false});
    CHECK(train(one_thread, *strategy, data_of_50(), Grain::fused) == expected);
    for (std::uint64_t seed = 0; seed < schedules(25); ++seed) {
      auto runtime = scheduled_runtime(seed, replicas);
      const auto data = seed % 3 == 0 ? data_of_50().prefetch(2) : data_of_50();
      CHECK(train(runtime, *strategy, data, seed % 2 == 0 ? Grain::per_op : Grain::fused) == expected);
    }
  }
}

TEST_CASE("mirrored replicas do what one device does, uneven and empty parts included, for any buckets") {
  auto runtime = scheduled_runtime(1, 5);
  const std::vector<Optimizer> optimizers{Sgd{.lr = 0.1, .momentum = 0.5}, Adam{.lr = 0.01},
                                          Sgd{.lr = 0.1, .weight_decay = 0.01, .clip_norm = 0.05}};
  for (const auto& optimizer : optimizers) {
    const auto one = train(runtime, OneDevice(), data_of_50(), Grain::fused, 5, optimizer);
    for (int replicas : {1, 2, 3, 5}) {
      std::string hash;
      for (std::int64_t bucket : {1, 100, 1 << 20}) {
        const auto many =
            train(runtime, Mirrored(cpu_devices(replicas), {.first_bucket_bytes = bucket, .bucket_bytes = bucket}),
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
  const Mirrored strategy(cpu_devices(3));
  auto trainer = small_trainer(runtime, strategy);
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

TEST_CASE("a trainer goes on with the parameters of another, under another strategy") {
  auto runtime = scheduled_runtime(1, 3);
  const OneDevice one;
  const Mirrored three(cpu_devices(3));
  auto first = small_trainer(runtime, one);
  first.fit(data_of_50());
  auto second = small_trainer(runtime, three, {.parameters = first.shared_parameters()});
  CHECK(second.evaluate(data_of_50()).loss == Approx(first.evaluate(data_of_50()).loss));
  second.fit(data_of_50());
  for (int replica : {1, 2}) CHECK(second.parameters().hash(replica) == second.parameters().hash(0));
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
    for (std::uint64_t seed = 0; seed < schedules(20); ++seed) {
      auto runtime = scheduled_runtime(seed, replicas);
      const Mirrored strategy(cpu_devices(replicas), {.first_bucket_bytes = 1, .bucket_bytes = 1});
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
  CHECK_THROWS_WITH(fit(Sequential{Dense{2}}), Contains("[field]") && Contains("int32[B, 4]"));
  CHECK_THROWS_WITH(fit(Sequential{Conv2d{4, 3}}), Contains("[conv2d]"));
  CHECK_THROWS_WITH(fit(Sequential{Flatten{}, Dense{0}}), Contains("[dense]"));
  CHECK_THROWS_WITH(fit([](Value x) { return Flatten{}(x); }), Contains("no parameters"));
  CHECK_THROWS_AS(Mirrored(cpu_devices(0)), Error);
  CHECK_THROWS_AS(Mirrored(cpu_devices(2), {.bucket_bytes = 0}), Error);
}

static_assert(!std::is_copy_constructible_v<Trainer> && !std::is_move_constructible_v<Trainer>);
// A strategy that would be gone at the first fit.
static_assert(!std::is_constructible_v<Trainer, Runtime&, OneDevice, Sequential, Sgd, SoftmaxCrossEntropy>);

TEST_CASE("a value that was set for a parameter that the model does not have is an error") {
  auto runtime = scheduled_runtime(1, 1);
  const OneDevice strategy;
  auto trainer = small_trainer(runtime, strategy);
  trainer.parameters().set("dense1.wieghts", Tensor::scalar(1.0F));
  CHECK_THROWS_WITH(trainer.fit(data_of_50()),
                    Contains("[trainer] a value was set for 'dense1.wieghts' ") &&
                        Contains("has the parameters 'dense1.weights', 'dense1.bias', 'dense2"));
  CHECK_THROWS_WITH(trainer.evaluate(data_of_50()), Contains("'dense1.wieghts'"));
  trainer.parameters().forget("dense1.wieghts");
  CHECK(trainer.evaluate(data_of_50()).rows == 50);
  auto other = small_trainer(runtime, strategy);
  // State of an optimizer that is used no more.
  other.parameters().set("dense1.weights/second_moment", Tensor::scalar(1.0F));
  CHECK(other.fit(data_of_50()).steps == 4);
  // A value of another trainer's model.
  const auto store = std::make_shared<ParameterStore>();
  store->set("head.weights", Tensor::scalar(1.0F));
  store->set_position({.step = 3}, "head");
  auto body = small_trainer(runtime, strategy, {.parameters = store, .name = "body"});
  CHECK(body.fit(data_of_50()).steps == 4);
}

TEST_CASE("a name that the user gives a trainer must be of its model, also if the store has other trainers") {
  auto runtime = scheduled_runtime(1, 1);
  const OneDevice strategy;
  const auto store = std::make_shared<ParameterStore>();
  store->set_position({.step = 3}, "head");
  auto body = small_trainer(runtime, strategy, {.parameters = store, .name = "body"});
  body.set_parameters({{"dense1.wieghts", Tensor::scalar(1.0F)}});
  CHECK_THROWS_WITH(body.fit(data_of_50()), Contains("[trainer] a value was set for 'dense1.wieghts'"));
  CHECK_THROWS_WITH(body.evaluate(data_of_50()), Contains("'dense1.wieghts'"));
  CHECK_THROWS_WITH(body.predict(data_of_50()), Contains("'dense1.wieghts'"));
  CHECK_THROWS_WITH(Predictor(body, data_of_50().fields()), Contains("'dense1.wieghts'"));
  store->forget("dense1.wieghts");
  CHECK(body.fit(data_of_50()).steps == 4);
}

TEST_CASE("a runtime may go before what was made on it") {
  auto runtime = std::make_unique<Runtime>(RuntimeOptions{.cpu_devices = 2});
  const Mirrored strategy(cpu_devices(2));
  auto trainer = small_trainer(*runtime, strategy);
  const auto run = trainer.start(data_of_50(), {.epochs = 3});
  runtime.reset();
  CHECK(run->wait().steps == 12);
  CHECK(trainer.evaluate(data_of_50()).rows == 50);
}

TEST_CASE("after an exception in on_step, position and parameters agree") {
  Runtime runtime({.cpu_devices = 2});
  const Mirrored strategy(cpu_devices(2));
  auto trainer = small_trainer(runtime, strategy);
  CHECK_THROWS_WITH(
      trainer.fit(data_of_50(),
                  {.epochs = 1'000'000, .on_step = [](const StepMetrics&) { throw std::runtime_error("enough"); }}),
      Contains("enough"));
  CHECK(trainer.steps() > 0);
  CHECK(trainer.parameters().newest_updates(trainer.parameters().entries()[0].name) == trainer.steps());
  const auto steps = trainer.steps();
  CHECK(trainer.fit(data_of_50(), {.max_steps = 1}).steps == 1);
  CHECK(trainer.steps() == steps + 1);
}

TEST_CASE("memory is what the plan said and does not grow with the steps") {
  for (const auto grain : {Grain::fused, Grain::per_op}) {
    Runtime runtime({.workers = 2, .cpu_devices = 2});
    const Mirrored strategy(cpu_devices(2));
    auto trainer = small_trainer(runtime, strategy, {.grain = grain});
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
    const Mirrored strategy(cpu_devices(2));
    auto trainer = small_trainer(runtime, strategy, {.grain = grain});
    const auto data = small_dataset(64).batch(16).shuffle(64);
    trainer.fit(data, {.epochs = 250});
    const auto before = resident_pages();
    trainer.fit(data, {.epochs = 2500});
    CHECK(trainer.steps() == 11'000);
    CHECK(resident_pages() - before < 512);
  }
}
#endif

TEST_CASE("the names of trainers can be written to files and reports") {
  auto runtime = scheduled_runtime(0);
  const OneDevice strategy;
  for (const std::string name : {"a\nb", "\x1b[2J", "a\"b"})
    CHECK_THROWS_WITH(small_trainer(runtime, strategy, {.name = name}), Contains("[trainer]"));
  CHECK_THROWS_WITH(small_trainer(runtime, strategy, {.name = std::string(513, 'x')}), Contains("a trainer"));
  CHECK_NOTHROW(small_trainer(runtime, strategy, {.name = std::string(512, 'x')}));
}

TEST_CASE("a training and its predictions do not depend on the rounding mode of the program") {
  std::vector<std::string> hashes;
  std::vector<float> predictions;
  for (const auto rounding : {FE_TONEAREST, FE_UPWARD, FE_TOWARDZERO}) {
    auto runtime = scheduled_runtime(0);
    const OneDevice strategy;
    std::fesetround(rounding);
    auto trainer = small_trainer(runtime, strategy, {.seed = 3}, Adam{.lr = 0.01, .beta1 = 0.7, .beta2 = 0.9});
    trainer.fit(data_of_50());
    predictions.push_back(trainer.predict(data_of_50()).data<float>()[0]);
    hashes.push_back(trainer.parameters().hash());
    CHECK(std::fegetround() == rounding);
    std::fesetround(FE_TONEAREST);
  }
  CHECK(hashes == std::vector<std::string>(3, hashes.front()));
  CHECK(predictions == std::vector<float>(3, predictions.front()));
}
