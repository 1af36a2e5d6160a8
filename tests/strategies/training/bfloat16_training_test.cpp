#include "troupe/ops/library/activation.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/ops/nn/normalization.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/strategies/training/images_of_kinds.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"
#include "troupe/tests/with_precision.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

const Model kDense = Sequential{Flatten{}, Dense{16, relu}, Dense{12, gelu}, LayerNorm{}, Dense{3}};
const Model kConvolutions =
    Sequential{Conv2d{8, 3, relu}, BatchNorm{}, AveragePool{}, Conv2d{16, 3, relu}, Flatten{}, Dense{3}};

struct Result {
  Outcome outcome;
  double accuracy = 0.0;
};

Result train(const Strategy& strategy, const Model& model, Grain grain = Grain::fused) {
  auto runtime = scheduled_runtime(5, 2);
  Trainer trainer(runtime, strategy, model, Sgd{.lr = 0.05}, SoftmaxCrossEntropy{}, {.seed = 3, .grain = grain});
  const auto data = images_of_kinds(90, 4);
  Result result;
  trainer.fit(data,
              {.epochs = 3, .on_step = [&](const StepMetrics& step) { result.outcome.losses.push_back(step.loss); }});
  result.accuracy = trainer.evaluate(data)["accuracy"];
  result.outcome.hash = trainer.parameters().hash();
  for (int replica = 1; replica < strategy.num_replicas_in_sync(); ++replica)
    CHECK(trainer.parameters().hash(replica) == result.outcome.hash);
  return result;
}

void check_near(const Result& narrow, const Result& wide) {
  REQUIRE(narrow.outcome.losses.size() == wide.outcome.losses.size());
  CHECK(narrow.outcome.losses != wide.outcome.losses);
  for (std::size_t i = 0; i < wide.outcome.losses.size(); ++i)
    CHECK(narrow.outcome.losses[i] == Approx(wide.outcome.losses[i]).epsilon(0.05).margin(0.02));
  CHECK(narrow.accuracy == Approx(wide.accuracy).margin(0.05));
}

}  // namespace

TEST_CASE("training on cores in bfloat16 has nearly the losses of float32, and the same bits in every grain",
          "[bfloat16]") {
  for (const auto& model : {kDense, kConvolutions}) {
    const auto wide = train(OneDevice(), model);
    const WithPrecision precision(MatmulPrecision::bfloat16);
    const auto narrow = train(OneDevice(), model);
    check_near(narrow, wide);
    for (const auto grain : {Grain::chains, Grain::per_op})
      CHECK(train(OneDevice(), model, grain).outcome == narrow.outcome);
  }
}

TEST_CASE("replicas and servers train in bfloat16", "[bfloat16]") {
  const ParameterServer servers(places_of(cpu_devices(2)), {Place{}}, ConsistencyRule::synchronous(2));
  const auto wide = train(Mirrored(cpu_devices(2)), kConvolutions), wide_on_servers = train(servers, kDense);
  const WithPrecision precision(MatmulPrecision::bfloat16);
  check_near(train(Mirrored(cpu_devices(2)), kConvolutions), wide);
  check_near(train(servers, kDense), wide_on_servers);
}
