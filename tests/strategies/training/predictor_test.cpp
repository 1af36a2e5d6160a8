#include "troupe/strategies/training/predictor.hpp"

#include <atomic>
#include <thread>

#include "troupe/ops/core/allocator.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/library/dropout.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/nn/sequence.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/one_device.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"
#include "troupe/tests/with_precision.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

bool equal_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::equal(a.raw(), a.raw() + a.bytes(), b.raw());
}

Predictor::Arrays rows_of(const Dataset& data, std::int64_t rows) {
  Predictor::Arrays arrays;
  for (const auto& field : data.fields()) arrays.emplace_back(field.name, data.take(rows).array(field.name));
  return arrays;
}

/// Two outputs of a float and an integer field.
Outputs two_outputs(const Inputs& in) {
  const auto bias = in.builder().parameter("bias", {3}, Initializer::zeros());
  const auto price =
      matmul(in["size"], in.builder().parameter("weights", {2, 3}, Initializer::glorot_uniform())) + bias;
  return {{"price", price}, {"kind", in["kind"]}};
}

struct TwoOutputsLoss {
  Value operator()(const Outputs& outputs, const Inputs& in) const {
    return MeanSquaredError{"price", "price_paid"}(outputs, in);
  }
};

Dataset houses(std::int64_t rows) {
  Tensor size(Shape{rows, 2}, DType::float32), kind(Shape{rows}, DType::int32), paid(Shape{rows, 3}, DType::float32);
  for (std::int64_t i = 0; i < size.elements(); ++i) size.mutable_data<float>()[i] = 0.1F * static_cast<float>(i % 7);
  for (std::int64_t i = 0; i < rows; ++i) kind.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i * i);
  return Dataset::from_arrays({{"size", size}, {"kind", kind}, {"price_paid", paid}});
}

}  // namespace

TEST_CASE("a predictor gives the bits of Trainer::predict, and follows the training") {
  const WithPrecision precision(GENERATE(MatmulPrecision::float32, MatmulPrecision::bfloat16));
  for (int replicas : {1, 2}) {
    auto runtime = scheduled_runtime(1, replicas);
    std::vector<Place> places;
    for (int i = 0; i < replicas; ++i) places.push_back({0, {DeviceType::cpu, i}});
    const Mirrored strategy(places);
    const OneDevice one;
    Trainer trainer(runtime, strategy, small_spec().model, Sgd{.lr = 0.1}, SoftmaxCrossEntropy{});
    Trainer whole(runtime, one, small_spec().model, Sgd{.lr = 0.1}, SoftmaxCrossEntropy{},
                  {.parameters = trainer.shared_parameters()});
    const auto data = small_dataset(40);
    Predictor predictor(trainer, data.fields());
    Tensor before;
    for (int epoch = 0; epoch < 3; ++epoch) {
      for (std::int64_t rows : {1, 3, 40, 1}) {
        const auto predicted = predictor.predict(rows_of(data, rows));
        CHECK(equal_bits(predicted, whole.predict(data.take(rows).batch(rows))));
        if (before && rows == 40) CHECK_FALSE(equal_bits(predicted, before));
        if (rows == 40) before = predicted;
      }
      trainer.fit(data.batch(8));
    }
  }
}

TEST_CASE("a predictor of characters gives the bits of Trainer::predict") {
  constexpr std::int64_t kTimes = 12, kCharacters = 10, kRows = 7;
  auto runtime = scheduled_runtime(1, 1);
  const OneDevice strategy;
  Trainer trainer(runtime, strategy, Sequential{Embedding{kCharacters, 16}, Lstm{.units = 20}, Dense{kCharacters}},
                  Sgd{.lr = 0.1}, SoftmaxCrossEntropy{});
  Tensor characters(Shape{kRows, kTimes}, DType::int32);
  for (std::int64_t i = 0; i < characters.elements(); ++i)
    characters.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i * i % kCharacters);
  const auto data = Dataset::from_arrays({{"characters", characters}}).batch(kRows);
  Predictor predictor(trainer, data.fields());
  CHECK(equal_bits(predictor.predict(rows_of(data, kRows)), trainer.predict(data)));
}

TEST_CASE("a predictor sees values that are set, and its results are the caller's") {
  auto runtime = scheduled_runtime(1, 1);
  const OneDevice strategy;
  Trainer trainer(runtime, strategy, small_spec().model, Sgd{.lr = 0.1}, SoftmaxCrossEntropy{});
  const auto data = small_dataset(4);
  Predictor predictor(trainer, data.fields());
  const auto first = predictor.predict(rows_of(data, 4));
  const auto copy = first.clone();
  for (const auto& entry : trainer.parameters().entries())
    trainer.parameters().set(entry.name, Tensor(entry.info.shape, entry.info.dtype));
  const auto zero = predictor.predict(rows_of(data, 4));
  for (auto value : zero.data<float>()) CHECK(value == 0.0F);
  CHECK(equal_bits(first, copy));
  CHECK_FALSE(equal_bits(first, zero));
}

TEST_CASE("several outputs by name, fields of several dtypes, and no rows") {
  auto runtime = scheduled_runtime(1, 1);
  const OneDevice strategy;
  Trainer trainer(runtime, strategy, two_outputs, Sgd{.lr = 0.1}, TwoOutputsLoss{});
  const auto data = houses(5);
  Predictor predictor(trainer, data.fields());
  const auto all = predictor.predict_all(rows_of(data, 5));
  REQUIRE(all.size() == 2);
  CHECK(all[0].first == "price");
  CHECK(equal_bits(all[0].second, predictor.predict(rows_of(data, 5), "price")));
  CHECK(all[1].first == "kind");
  CHECK(equal_bits(all[1].second, data.array("kind")));
  CHECK(predictor.predict(rows_of(data, 0), "price").shape() == Shape{0, 3});
  CHECK_THROWS_WITH(predictor.predict(rows_of(data, 5)), Contains("'price', 'kind'"));
  CHECK_THROWS_WITH(predictor.predict(rows_of(data, 5), "prize"), Contains("no output 'prize' among 'price', 'kind'"));
}

TEST_CASE("a model that draws numbers in prediction sees the calls as the batches of Trainer::predict") {
  const Model noisy = [](const Inputs& in) -> Outputs {
    const auto weights = in.builder().parameter("weights", {2, 3}, Initializer::glorot_uniform());
    return {{"price", dropout(matmul(in["size"], weights), 0.5, 1, 0, in.builder().batch_info())}};
  };
  auto runtime = scheduled_runtime(1, 1);
  const OneDevice strategy;
  Trainer trainer(runtime, strategy, noisy, Sgd{.lr = 0.1}, TwoOutputsLoss{});
  const auto data = houses(20).batch(10);
  const auto all = trainer.predict(data);
  Predictor predictor(trainer, data.fields());
  CHECK(predictor.fields().size() == 1);
  const auto first = predictor.predict(rows_of(data, 10));
  CHECK(equal_bits(first, all.rows(0, 10)));
  CHECK(equal_bits(predictor.predict(rows_of(data.skip(10), 10)), all.rows(10, 10)));
  CHECK_FALSE(equal_bits(predictor.predict(rows_of(data, 10)), first));
  CHECK(predictor.predict(rows_of(data, 0)).shape() == Shape{0, 3});
}

TEST_CASE("rows that do not fit are refused with the field") {
  auto runtime = scheduled_runtime(1, 1);
  const OneDevice strategy;
  Trainer trainer(runtime, strategy, two_outputs, Sgd{.lr = 0.1}, TwoOutputsLoss{});
  const auto data = houses(5);
  Predictor predictor(trainer, data.fields());
  const auto size = data.array("size"), kind = data.array("kind");
  CHECK_THROWS_WITH(predictor.predict_all({{"size", size}}), Contains("'kind' int32[B] is missing"));
  CHECK_THROWS_WITH(predictor.predict_all({{"size", kind}, {"kind", kind}}),
                    Contains("'size' float32[B, 2] was given int32[5]"));
  CHECK_THROWS_WITH(predictor.predict_all({{"size", Tensor()}, {"kind", kind}}), Contains("was given nothing"));
  CHECK_THROWS_WITH(predictor.predict_all({{"size", size}, {"kind", data.take(3).array("kind")}}),
                    Contains("'kind' int32[B] has 3 rows, but 'size' has 5"));
  CHECK_THROWS_WITH(Predictor(trainer, {data.fields()[0]}), Contains("kind"));
  CHECK_THROWS_WITH(Predictor(trainer, data.fields(), {.prepared = 0}), Contains("at least one"));
}

TEST_CASE("only a limited number of row counts stays prepared") {
  auto runtime = scheduled_runtime(1, 1);
  const OneDevice strategy;
  Trainer trainer(runtime, strategy, small_spec().model, Sgd{.lr = 0.1}, SoftmaxCrossEntropy{});
  const auto data = small_dataset(64);
  Predictor predictor(trainer, data.fields(), {.prepared = 2});
  const auto predict_up_to = [&](std::int64_t most) {
    for (std::int64_t rows = 1; rows <= most; ++rows) predictor.predict(rows_of(data, rows));
    predictor.predict(rows_of(data, 64));
    predictor.predict(rows_of(data, 1));
    return cpu_allocator()->bytes_in_use();
  };
  CHECK(predict_up_to(2) == predict_up_to(60));
}

TEST_CASE("predicting while a run writes is an error, and the run goes on") {
  Runtime runtime({.cpu_devices = 1});
  const OneDevice strategy;
  Trainer trainer(runtime, strategy, small_spec().model, Sgd{.lr = 0.1}, SoftmaxCrossEntropy{});
  const auto data = small_dataset(16).batch(4);
  Predictor predictor(trainer, data.fields());
  predictor.predict(rows_of(data, 1));
  const auto run = trainer.start(data, {.epochs = 1'000'000});
  CHECK_THROWS_WITH(predictor.predict(rows_of(data, 1)), Contains("being written") && Contains("wait for the end"));
  run->stop();
  CHECK(run->wait().stopped);
  CHECK(predictor.predict(rows_of(data, 1)).shape() == Shape{1, 2});
}

TEST_CASE("predictors on several threads read the same parameters") {
  Runtime runtime({.cpu_devices = 1});
  const OneDevice strategy;
  Trainer trainer(runtime, strategy, small_spec().model, Sgd{.lr = 0.1}, SoftmaxCrossEntropy{});
  const auto data = small_dataset(8);
  const auto expected = Predictor(trainer, data.fields()).predict(rows_of(data, 8));
  std::vector<int> equal(3, 0);
  std::vector<std::thread> threads;
  for (auto& count : equal)
    threads.emplace_back([&] {
      Predictor mine(trainer, data.fields());
      for (int i = 0; i < 50; ++i) count += equal_bits(mine.predict(rows_of(data, 8)), expected) ? 1 : 0;
    });
  for (auto& thread : threads) thread.join();
  CHECK(equal == std::vector<int>(3, 50));
}

TEST_CASE("a trainer in use on one thread refuses another, and allows itself") {
  Runtime runtime({.cpu_devices = 1});
  const OneDevice strategy;
  Trainer trainer(runtime, strategy, small_spec().model, Sgd{.lr = 0.1}, SoftmaxCrossEntropy{});
  const auto data = small_dataset(16).batch(4);
  std::string refused;
  trainer.fit(data, {.on_epoch = [&](const EpochMetrics&) {
                CHECK(trainer.evaluate(data).rows == 16);
                std::thread([&] {
                  try {
                    trainer.evaluate(data);
                  } catch (const Error& error) {
                    refused = error.what();
                  }
                }).join();
              }});
  CHECK_THAT(refused, Contains("[trainer] is in use on another thread"));
  CHECK(trainer.evaluate(data).rows == 16);
}

TEST_CASE("predicting again and again between the epochs of a fit does not end the fit") {
  Runtime runtime({.cpu_devices = 1});
  const OneDevice strategy;
  Trainer trainer(runtime, strategy, small_spec().model, Sgd{.lr = 0.1}, SoftmaxCrossEntropy{});
  const auto data = small_dataset(8).batch(4);
  Predictor predictor(trainer, data.fields());
  std::atomic<bool> over{false};
  std::thread reader([&] {
    while (!over) {
      try {
        predictor.predict(rows_of(data, 1));
      } catch (const Error&) {
        // A run writes just now.
      }
    }
  });
  std::string error;
  try {
    trainer.fit(data, {.epochs = 300});
  } catch (const Error& thrown) {
    error = thrown.what();
  }
  over = true;
  reader.join();
  CHECK(error.empty());
  CHECK(trainer.steps() == 600);
}

TEST_CASE("a prediction uses one version of all parameters while they are set again and again") {
  auto runtime = scheduled_runtime(1, 1);
  const OneDevice strategy;
  // The output is 0 if `a` and `b` have the same version.
  const auto model = [](Value x) {
    auto& builder = x.builder();
    const auto a = builder.parameter("a", {64, 512}, Initializer::zeros());
    const auto b = builder.parameter("b", {64, 512}, Initializer::zeros());
    return matmul(x, a) - matmul(x, b);
  };
  const auto row = Tensor::from<float>({1, 64}, std::vector<float>(64, 1.0F));
  const auto data = Dataset::from_arrays({{"x", row}});
  Trainer trainer(runtime, strategy, model, Sgd{}, [](const Outputs& out, const Inputs&) {
    return reshape(reduce_sum(out[""], std::vector<std::int64_t>{1}), {kBatch});
  });
  trainer.evaluate(data);
  std::atomic<bool> done{false};
  std::atomic<std::int64_t> torn{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      Predictor predictor(trainer, data.fields());
      while (!done) {
        const auto predicted = predictor.predict({{"x", row}});
        for (const auto element : predicted.data<float>()) torn += element != 0.0F ? 1 : 0;
      }
    });
  for (int version = 1; version <= 200; ++version) {
    const auto value = Tensor::from<float>({64, 512}, std::vector<float>(64 * 512, static_cast<float>(version)));
    trainer.set_parameters({{"a", value}, {"b", value}});
  }
  done = true;
  for (auto& thread : threads) thread.join();
  CHECK(torn == 0);
  // A set that cannot be made changes nothing.
  const auto other = Tensor::from<float>({64, 512}, std::vector<float>(64 * 512));
  CHECK_THROWS_WITH(trainer.set_parameters({{"a", other}, {"b", row}}), Contains("[store] parameter 'b' is"));
  CHECK(trainer.parameters().get("a").data<float>()[0] == 200.0F);
}
