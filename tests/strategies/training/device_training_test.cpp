#include "troupe/ops/core/random.hpp"
#include "troupe/strategies/local_sgd.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/one_device.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/strategies/training/predictor.hpp"
#include "troupe/strategies/training/trainer.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/plans/test_plans.hpp"
#include "troupe/tests/strategies/training/images_of_kinds.hpp"
#include "troupe/tests/test_device/test_device.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

Model mlp() {
  return Sequential{Flatten{}, Dense{16, relu}, Dense{3}};
}

Model cnn() {
  return Sequential{Conv2d{4, 3, relu}, MaxPool{}, Flatten{}, Dense{3}};
}

struct TwoEpochs {
  std::vector<double> losses;
  double accuracy = 0.0;
  std::string hash;

  bool operator==(const TwoEpochs&) const = default;
};

/// The last batch of each epoch is uneven, an evaluation lies in between.
TwoEpochs two_epochs(Trainer& trainer, const Dataset& data) {
  TwoEpochs outcome;
  for (int epoch = 0; epoch < 2; ++epoch) {
    trainer.fit(data, {.on_step = [&](const StepMetrics& step) { outcome.losses.push_back(step.loss); }});
    outcome.accuracy = trainer.evaluate(data)["accuracy"];
  }
  outcome.hash = trainer.parameters().hash();
  return outcome;
}

TwoEpochs train_two_epochs(const Strategy& strategy, const Model& model, Grain grain, const Dataset& data) {
  Runtime runtime({.workers = 2, .cpu_devices = 2});
  Trainer trainer(runtime, strategy, model, Sgd{.lr = 0.1, .momentum = 0.5}, SoftmaxCrossEntropy{},
                  {.seed = 3, .grain = grain, .stall_limit = patience()});
  auto outcome = two_epochs(trainer, data);
  for (int replica = 1; replica < strategy.num_replicas_in_sync(); ++replica)
    CHECK(trainer.parameters().hash(replica) == outcome.hash);
  return outcome;
}

const std::vector<Device> kCpus{{DeviceType::cpu, 0}, {DeviceType::cpu, 1}};

void check_bits(const Model& model) {
  const auto data = images_of_kinds(50, 2);
  const auto alone = train_two_epochs(OneDevice(), model, Grain::fused, data);
  const auto mirrored = train_two_epochs(Mirrored(kCpus), model, Grain::fused, data);
  for (const auto grain : {Grain::per_op, Grain::chains, Grain::fused}) {
    CHECK(train_two_epochs(OneDevice(test_device(0)), model, grain, data) == alone);
    CHECK(train_two_epochs(OneDevice(test_device(3)), model, grain, data.prefetch(2)) == alone);
    CHECK(train_two_epochs(OneDevice(test_device(3)), model, grain, data.keep_on_devices(0)) == alone);
    CHECK(train_two_epochs(OneDevice(test_device(3)), model, grain, data.keep_on_devices(0).prefetch(2)) == alone);
    CHECK(train_two_epochs(Mirrored({test_device(0), test_device(1)}), model, grain, data) == mirrored);
    const MirroredOptions small_buckets{.first_bucket_bytes = 64, .bucket_bytes = 64};
    CHECK(train_two_epochs(Mirrored({test_device(0), test_device(0)}, small_buckets), model, grain, data) == mirrored);
    CHECK(train_two_epochs(Mirrored({test_device(0), test_device(1)}, small_buckets), model, grain,
                           data.keep_on_devices(0)) == mirrored);
  }
}

}  // namespace

TEST_CASE("a perceptron trains on a device with memory of its own to the CPU's bits, mirrored too, in every grain") {
  check_bits(mlp());
}

TEST_CASE("a convolutional network trains on a device with memory of its own to the CPU's bits") {
  check_bits(cnn());
}

TEST_CASE("workers on devices train with parameters on servers to the bits of workers on cores") {
  const auto data = images_of_kinds(50, 2);
  const auto on_device = places_of({test_device(0), test_device(1)}), on_cores = places_of(kCpus);
  const auto synchronous = ConsistencyRule::synchronous(2);
  const LocalSgdOptions local{.local_steps = 3};
  for (const auto& model : {mlp(), cnn()}) {
    const auto expected =
        train_two_epochs(ParameterServer(on_cores, {Place{}}, synchronous), model, Grain::fused, data);
    const auto expected_local = train_two_epochs(LocalSgd(on_cores, {Place{}}, local), model, Grain::fused, data);
    CHECK(expected.losses != expected_local.losses);
    for (const auto grain : {Grain::per_op, Grain::chains, Grain::fused})
      for (const auto& samples : {data, data.keep_on_devices(0)}) {
        CHECK(train_two_epochs(ParameterServer(on_device, {Place{}}, synchronous), model, grain, samples) == expected);
        CHECK(train_two_epochs(LocalSgd(on_device, {Place{}}, local), model, grain, samples) == expected_local);
      }
  }
}

TEST_CASE("trainings on cores and on devices continue each other on one store, to the bits of cores alone") {
  const auto data = images_of_kinds(50, 2);
  const Runtime runtime({.workers = 2, .cpu_devices = 2});
  const auto on_device = places_of({test_device(0), test_device(1)}), on_cores = places_of(kCpus);
  const auto synchronous = ConsistencyRule::synchronous(2);
  const auto train = [&](std::span<const std::vector<Place>> places) {
    const auto store = std::make_shared<ParameterStore>(3);
    std::vector<double> losses;
    for (const auto& where : places) {
      const Mirrored mirrored(where);
      const ParameterServer servers(where, {Place{}}, synchronous);
      for (const Strategy* strategy :
           {static_cast<const Strategy*>(&mirrored), static_cast<const Strategy*>(&servers)}) {
        Trainer trainer(runtime, *strategy, mlp(), Sgd{.lr = 0.1, .momentum = 0.5},
                        SoftmaxCrossEntropy{.labels = "labels"},
                        {.stall_limit = patience(), .parameters = store, .name = "one"});
        trainer.fit(data, {.on_step = [&](const StepMetrics& step) { losses.push_back(step.loss); }});
        losses.push_back(trainer.evaluate(data).loss);
        losses.push_back(
            Predictor(trainer, data.fields()).predict({{"features", data.array("features")}}).data<float>()[0]);
      }
    }
    return std::pair(losses, store->hash());
  };
  const std::vector<std::vector<Place>> alone{on_cores, on_cores, on_cores}, moved{on_cores, on_device, on_cores};
  CHECK(train(moved) == train(alone));
}

TEST_CASE("a step that fails before a device has launched anything ends the run with its cause") {
  const auto broken = images_of_kinds(50, 2).with_function<float>(
      "noise", {3}, [](std::int64_t, std::span<float>) { throw Error("reader", "the file is broken"); });
  const Model model = [](const Inputs& inputs) { return Dense{3}(Flatten{}(inputs["features"])) * inputs["noise"]; };
  const Runtime runtime({.workers = 2, .cpu_devices = 2});
  for (const auto grain : {Grain::per_op, Grain::fused}) {
    const Mirrored strategy({test_device(0), test_device(1)});
    Trainer trainer(runtime, strategy, model, Sgd{.lr = 0.1}, SoftmaxCrossEntropy{.labels = "labels"},
                    {.grain = grain, .stall_limit = patience()});
    CHECK_THROWS_WITH(trainer.fit(broken), Contains("the file is broken"));
  }
}

TEST_CASE("training on a device that is late takes nothing too early") {
  const auto data = images_of_kinds(50, 2);
  const auto expected = train_two_epochs(Mirrored(kCpus), mlp(), Grain::fused, data);
  const DelayedTestDevices delayed;
  for (const auto grain : {Grain::per_op, Grain::fused})
    for (const auto& where : {data, data.keep_on_devices(0)})
      CHECK(train_two_epochs(Mirrored({test_device(0), test_device(1)}), mlp(), grain, where) == expected);
}

TEST_CASE("parameters on a device are read, written, hashed and handed on to another device") {
  const auto data = images_of_kinds(50, 2);
  Runtime runtime({.workers = 2, .cpu_devices = 2});
  const auto store = std::make_shared<ParameterStore>(3);
  const auto fit = [&](const Strategy& strategy) {
    Trainer trainer(runtime, strategy, mlp(), Sgd{.lr = 0.1}, SoftmaxCrossEntropy{}, {.parameters = store});
    trainer.fit(data, {});
  };
  fit(OneDevice(test_device(1)));
  const auto name = store->entries()[0].name;
  const auto value = store->get(name);
  CHECK(value.host_accessible());
  const auto hash = store->hash();
  store->set(name, Tensor(value.shape(), DType::float32));
  CHECK(store->hash() != hash);
  store->set(name, value.to(test_device(2)));
  CHECK(store->hash() == hash);
  fit(Mirrored({test_device(1), test_device(2)}));
  CHECK(store->hash(1) == store->hash(0));
}

TEST_CASE("devices in several parts of a plan train to the same bits") {
  const auto data = images_of_kinds(50, 2);
  const auto expected = train_two_epochs(Mirrored(kCpus), mlp(), Grain::fused, data);
  for (const auto grain : {Grain::per_op, Grain::chains, Grain::fused}) {
    for (const auto& second : {test_device(0), test_device(1), kCpus[1]}) {
      const Mirrored strategy(std::vector<Place>{{0, test_device(0)}, {1, second}});
      const Runtime first({.workers = 1, .cpu_devices = 1});
      TrainerOptions options{.seed = 3, .grain = grain, .stall_limit = patience()};
      options.other_parts.emplace_back(Runtime({.workers = 1, .cpu_devices = 2}));
      Trainer trainer(first, strategy, mlp(), Sgd{.lr = 0.1, .momentum = 0.5}, SoftmaxCrossEntropy{}, options);
      CHECK(two_epochs(trainer, data) == expected);
    }
  }
}

TEST_CASE("plans of a trainer share the data on a device, which are given back with the last") {
  const auto data = images_of_kinds(50, 2);
  const auto before = test_device_bytes_in_use();
  {
    const Runtime runtime({.workers = 2, .cpu_devices = 1});
    const Mirrored strategy({test_device(0), test_device(0)});
    Trainer trainer(runtime, strategy, mlp(), Sgd{.lr = 0.1}, SoftmaxCrossEntropy{}, {.seed = 3});
    const auto bytes_of_plan = [&](const Dataset& samples) {
      const auto others = test_device_bytes_in_use();
      const auto run = trainer.start(samples, {.epochs = 0});
      return test_device_bytes_in_use() - others;
    };
    const auto rest = data.skip(1);
    const auto kept = rest.array("features").bytes() + rest.array("labels").bytes();
    (void)trainer.start(data, {.epochs = 0});
    const auto alone = bytes_of_plan(data);
    CHECK(alone > kept);
    const auto run = trainer.start(data, {.epochs = 0});
    const auto beside = bytes_of_plan(data);
    CHECK(beside + kept <= alone);
    CHECK(bytes_of_plan(rest) >= beside + kept);
  }
  CHECK(test_device_bytes_in_use() == before);
}

TEST_CASE("a predictor gives the CPU's bits on a device with memory of its own") {
  const auto data = images_of_kinds(50, 2);
  Runtime runtime({.workers = 2, .cpu_devices = 1});
  const auto predict = [&](Device device) {
    const OneDevice strategy(device);
    Trainer trainer(runtime, strategy, cnn(), Sgd{.lr = 0.1}, SoftmaxCrossEntropy{}, {.seed = 3});
    trainer.fit(data);
    Predictor predictor(trainer, data.fields());
    std::vector<float> all;
    for (const std::int64_t rows : {1, 5, 1, 16}) {
      Tensor features(Shape{rows, 8, 8, 2}, DType::float32);
      for (std::int64_t i = 0; i < features.elements(); ++i)
        features.mutable_data<float>()[i] = uniform(9, 1, static_cast<std::uint64_t>(i));
      const auto result = predictor.predict({{"features", features}});
      all.insert(all.end(), result.data<float>().begin(), result.data<float>().end());
    }
    return all;
  };
  const auto expected = predict({DeviceType::cpu, 0});
  CHECK(expected.size() == 23 * 3);
  CHECK(predict(test_device(2)) == expected);
}

TEST_CASE("what finds no room on a device is named with its bytes, and nothing stays behind") {
  const auto data = images_of_kinds(50, 2);
  const auto before = test_device_bytes_in_use();
  const auto error_of_training = [&]() -> std::string {
    const Runtime runtime({.workers = 1, .cpu_devices = 1});
    const OneDevice strategy(test_device(0));
    const Model model = Sequential{Flatten{}, Dense{10'000'000, relu}, Dense{3}};
    Trainer trainer(runtime, strategy, model, Sgd{.lr = 0.1}, SoftmaxCrossEntropy{}, {.seed = 3});
    try {
      trainer.fit(data);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const auto error = error_of_training();
  CHECK_THAT(error, Contains("parameter 'dense1.weights'"));
  CHECK_THAT(error, Contains("out of memory: 5120000000 bytes requested"));
  CHECK(test_device_bytes_in_use() == before);
}
