#include <cstdlib>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/system/trace.hpp"
#include "troupe/ops/core/random.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/one_device.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/strategies/training/predictor.hpp"
#include "troupe/strategies/training/trainer.hpp"
#include "troupe/tests/gpu.hpp"
#include "troupe/tests/limits.hpp"
#include "troupe/tests/strategies/training/images_of_kinds.hpp"
#include "troupe/tests/with_precision.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// The same as bytes, which batches hold as float32.
Dataset bytes() {
  const auto data = images_of_kinds(90, 2);
  const auto features = data.array("features");
  Tensor pixels(features.shape(), DType::uint8);
  for (std::int64_t i = 0; i < features.elements(); ++i)
    pixels.mutable_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(features.data<float>()[i] * 170.0F);
  return Dataset(pixels, data.array("labels"), 3, 1.0F / 255.0F, -0.3F).shuffle(90).batch(16);
}

const Model kMlp = Sequential{Flatten{}, Dense{16, relu}, Dense{3}};
const Model kCnn = Sequential{Conv2d{4, 3, relu}, MaxPool{}, Flatten{}, Dense{3}};

struct GpuOutcome {
  std::vector<double> losses;
  double accuracy = 0.0;
  std::string hash;

  bool operator==(const GpuOutcome&) const = default;
};

/// Three epochs whose last batch is smaller, and an evaluation.
GpuOutcome train(const Strategy& strategy, const Model& model, Grain grain = Grain::fused,
                 const Dataset& data = images_of_kinds(90, 2)) {
  const Runtime runtime({.workers = 2, .cpu_devices = 2});
  Trainer trainer(runtime, strategy, model, Sgd{.lr = 0.1, .momentum = 0.5}, SoftmaxCrossEntropy{},
                  {.seed = 3, .grain = grain, .stall_limit = patience()});
  GpuOutcome outcome;
  trainer.fit(data, {.epochs = 3, .on_step = [&](const StepMetrics& step) { outcome.losses.push_back(step.loss); }});
  outcome.accuracy = trainer.evaluate(data)["accuracy"];
  outcome.hash = trainer.parameters().hash();
  for (int replica = 1; replica < strategy.num_replicas_in_sync(); ++replica)
    CHECK(trainer.parameters().hash(replica) == outcome.hash);
  return outcome;
}

void check_close(const GpuOutcome& got, const GpuOutcome& want) {
  REQUIRE(got.losses.size() == want.losses.size());
  for (std::size_t i = 0; i < want.losses.size(); ++i)
    CHECK(got.losses[i] == Approx(want.losses[i]).epsilon(1e-3).margin(1e-4));
  CHECK(got.accuracy == Approx(want.accuracy).margin(0.03));
}

/// Sets TROUPE_CAPTURE for the segments that are made while it lives.
class WithCapture {
 public:
  explicit WithCapture(const char* choice) { setenv("TROUPE_CAPTURE", choice, 1); }
  ~WithCapture() { unsetenv("TROUPE_CAPTURE"); }
  WithCapture(const WithCapture&) = delete;
  WithCapture& operator=(const WithCapture&) = delete;
};

}  // namespace

TEST_CASE("training on a GPU in 16 bits has nearly the losses of float32, in every grain and by replicas", "[.gpu]") {
  const auto device = gpu();
  if (!device) return;
  for (const auto& model : {kMlp, kCnn}) {
    const auto in_float32 = train(OneDevice(*device), model);
    const WithPrecision narrow(MatmulPrecision::bfloat16);
    const auto got = train(OneDevice(*device), model);
    CHECK(got.losses != in_float32.losses);
    for (std::size_t i = 0; i < got.losses.size(); ++i)
      CHECK(got.losses[i] == Approx(in_float32.losses[i]).epsilon(0.05).margin(0.02));
    CHECK(got.accuracy == Approx(in_float32.accuracy).margin(0.05));
    CHECK(train(OneDevice(*device), model, Grain::per_op) == got);
    {
      const WithCapture without("0");
      CHECK(train(OneDevice(*device), model) == got);
    }
    const auto replicated = train(Mirrored({*device, *device}), model);
    for (std::size_t i = 0; i < got.losses.size(); ++i)
      CHECK(replicated.losses[i] == Approx(got.losses[i]).epsilon(0.05).margin(0.02));
    CHECK(train(OneDevice(), model).losses[0] == Approx(got.losses[0]).epsilon(0.01));
  }
}

TEST_CASE("a training step on a GPU, optimizer included, is one launch of captured work", "[.gpu]") {
  const auto device = gpu();
  if (!device) return;
  const Runtime runtime({.workers = 2, .cpu_devices = 2});
  const auto trace = std::make_shared<Trace>();
  const OneDevice strategy(*device);
  Trainer trainer(runtime, strategy, kCnn, Adam{.lr = Schedule::cosine(0.01, 24)}, SoftmaxCrossEntropy{},
                  {.seed = 3, .trace = trace});
  const auto steps = trainer.fit(bytes(), {.epochs = 4}).steps;
  std::map<std::int64_t, std::vector<std::string>> launched;
  for (const auto& event : trace->events())
    if (event.device == "host of cuda:0") launched[event.step].push_back(event.task);
  REQUIRE(steps == 24);
  // Batches of a size are launched op by op the first time, and captured the second: in the first two epochs.
  for (auto step = steps / 2; step < steps; ++step) {
    CAPTURE(step, launched[step]);
    CHECK(launched[step].size() == 1);
  }
}

TEST_CASE("training on a GPU has the CPU's losses, and the same bits in every grain, captured or not", "[.gpu]") {
  const auto device = gpu();
  if (!device) return;
  for (const auto& model : {kMlp, kCnn}) {
    const auto expected = train(OneDevice(*device), model);
    check_close(expected, train(OneDevice(), model));
    CHECK(train(OneDevice(*device), model) == expected);
    for (const auto grain : {Grain::per_op, Grain::chains}) CHECK(train(OneDevice(*device), model, grain) == expected);
    {
      const WithCapture chain("chain");
      CHECK(train(OneDevice(*device), model) == expected);
    }
    const WithCapture without("0");
    for (const auto grain : {Grain::per_op, Grain::chains, Grain::fused})
      CHECK(train(OneDevice(*device), model, grain) == expected);
  }
}

TEST_CASE("a GPU trains to the same bits on data that it keeps and on batches that are copied there", "[.gpu]") {
  const auto device = gpu();
  if (!device) return;
  const OneDevice alone(*device);
  const Mirrored shared({*device, *device});
  const ParameterServer servers(places_of({*device, *device}), {Place{}}, ConsistencyRule::synchronous(2));
  for (const auto* strategy : std::initializer_list<const Strategy*>{&alone, &shared, &servers}) {
    const auto copied = train(*strategy, kMlp, Grain::fused, bytes().keep_on_devices(0));
    CHECK(train(*strategy, kMlp, Grain::fused, bytes()) == copied);
    CHECK(train(*strategy, kMlp, Grain::per_op, bytes().prefetch(2)) == copied);
    const WithCapture without("0");
    CHECK(train(*strategy, kMlp, Grain::fused, bytes()) == copied);
  }
}

TEST_CASE("several replicas share a GPU, and train as replicas on cores do", "[.gpu]") {
  const auto device = gpu();
  if (!device) return;
  const Mirrored on_gpu({*device, *device}), on_cores({{DeviceType::cpu, 0}, {DeviceType::cpu, 1}});
  for (const auto& model : {kMlp, kCnn}) {
    const auto expected = train(on_gpu, model);
    check_close(expected, train(on_cores, model));
    for (const auto grain : {Grain::per_op, Grain::chains, Grain::fused})
      CHECK(train(on_gpu, model, grain) == expected);
  }
}

TEST_CASE("replicas on two GPUs come to the bits of two on one, in training and evaluation", "[.gpu]") {
  const auto first = gpu(0), second = gpu(1);
  if (!first || !second) return;
  const auto expected = train(Mirrored({*first, *first}), kMlp);
  CHECK(train(Mirrored({*first, *second}), kMlp) == expected);
  CHECK(train(Mirrored({*second, *first}), kMlp, Grain::per_op) == expected);
  const WithCapture without("0");
  CHECK(train(Mirrored({*first, *second}), kMlp) == expected);
}

TEST_CASE("a GPU and a core train together, also with parameters on a server", "[.gpu]") {
  const auto device = gpu();
  if (!device) return;
  const std::vector<Device> both{*device, {DeviceType::cpu, 1}};
  check_close(train(Mirrored(both), kMlp), train(Mirrored({{DeviceType::cpu, 0}, {DeviceType::cpu, 1}}), kMlp));
  const ParameterServer servers(places_of({*device, *device}), {Place{}}, ConsistencyRule::synchronous(2));
  check_close(train(servers, kMlp), train(Mirrored({*device, *device}), kMlp));
}

TEST_CASE("a predictor on a GPU predicts what one on a core does", "[.gpu]") {
  const auto device = gpu();
  if (!device) return;
  const auto predict = [](Device where) {
    const auto data = images_of_kinds(90, 2);
    const Runtime runtime({.workers = 2, .cpu_devices = 1});
    const OneDevice strategy(where);
    Trainer trainer(runtime, strategy, kCnn, Sgd{.lr = 0.1}, SoftmaxCrossEntropy{}, {.seed = 3});
    Predictor predictor(trainer, data.fields());
    Tensor features(Shape{5, 8, 8, 2}, DType::float32);
    for (std::int64_t i = 0; i < features.elements(); ++i)
      features.mutable_data<float>()[i] = uniform(9, 1, static_cast<std::uint64_t>(i));
    const auto result = predictor.predict({{"features", features}});
    return std::vector<float>(result.data<float>().begin(), result.data<float>().end());
  };
  const auto expected = predict({}), got = predict(*device);
  REQUIRE(got.size() == 15);
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(expected[i]).epsilon(1e-4).margin(1e-5));
}

TEST_CASE("a training on a GPU that does not exist is refused by name", "[.gpu]") {
  if (!gpu()) return;
  const auto error_of_training = []() -> std::string {
    try {
      train(OneDevice(Device{DeviceType::cuda, 99}), kMlp);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK_THAT(error_of_training(), Contains("there is no cuda:99; this machine has "));
}
