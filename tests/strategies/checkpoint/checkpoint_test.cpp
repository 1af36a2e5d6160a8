#include "troupe/strategies/checkpoint/checkpoint.hpp"

#include "troupe/ops/nn/layers.hpp"
#include "troupe/ops/nn/normalization.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/training/trainer.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr std::int64_t kStepsOfTraining = 20;

std::shared_ptr<ParameterStore> trained_for(std::int64_t steps, std::shared_ptr<ParameterStore> from = nullptr) {
  const Runtime runtime({.cpu_devices = 2});
  const Mirrored strategy{two_places()};
  const TrainerOptions options{.seed = 7, .parameters = std::move(from)};
  const Sequential model{Flatten{}, Dense{8}, BatchNorm{}, relu, Dropout{0.2}, Dense{2}};
  Trainer trainer{runtime, strategy, model, Adam{}, SoftmaxCrossEntropy{}, options};
  trainer.fit(small_dataset(100).shuffle().batch(16), {.epochs = 100, .max_steps = steps});
  return trainer.shared_parameters();
}

}  // namespace

TEST_CASE("a training goes on from a checkpoint with the bits of an uninterrupted one") {
  const auto expected = trained_for(kStepsOfTraining)->hash();
  for (const std::int64_t steps : {1, 7, 10, 19}) {
    const auto checkpoint = checkpoint_of(*trained_for(steps), {{"notes", "text"}});
    CHECK(checkpoint.step == steps);
    CHECK(checkpoint.texts.at("notes") == "text");
    auto store = std::make_shared<ParameterStore>();
    restore(checkpoint, *store);
    CHECK(store->position().step == steps);
    CHECK(trained_for(kStepsOfTraining - steps, store)->hash() == expected);
  }
}

TEST_CASE("a checkpoint of another model leaves a store as it is") {
  const auto store = trained_for(3);
  const auto before = store->hash();
  auto checkpoint = checkpoint_of(*store);
  for (auto& value : checkpoint.values) value.value = Tensor({7}, DType::float32);
  CHECK_THROWS_AS(restore(checkpoint, *store), Error);
  CHECK(store->hash() == before);
  CHECK(store->position().step == 3);
}
