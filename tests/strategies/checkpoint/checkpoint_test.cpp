#include "troupe/strategies/checkpoint/checkpoint.hpp"

#include "troupe/ops/nn/layers.hpp"
#include "troupe/ops/nn/normalization.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/training/background_fit.hpp"
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
  for (const auto* shape : {"another size", "as many elements"}) {
    auto checkpoint = checkpoint_of(*store);
    REQUIRE(checkpoint.values.size() > 4);
    for (auto& value : checkpoint.values)
      if (value.value.dtype() == DType::float32) value.value = value.value.clone();
    for (auto& value : checkpoint.values)
      if (value.value.dtype() == DType::float32 && value.value.elements() > 0)
        value.value.mutable_data<float>()[0] += 1.0F;
    const auto wrong = std::ranges::find(checkpoint.values, std::size_t{2},
                                         [](const CheckpointValue& value) { return value.value.shape().rank(); });
    REQUIRE(wrong != checkpoint.values.end());
    const auto& sizes = wrong->value.shape();
    wrong->value = shape == std::string("another size") ? Tensor({7}, DType::float32)
                                                        : wrong->value.view(Shape{sizes[1], sizes[0]});
    CHECK_THROWS_WITH(restore(checkpoint, *store), Contains("'" + wrong->name + "' is float32"));
    CHECK(store->hash() == before);
    CHECK(store->position().step == 3);
  }
}

TEST_CASE("a checkpoint that another thread takes is of one step") {
  const Runtime runtime({.cpu_devices = 2});
  const Mirrored strategy{two_places()};
  Trainer trainer{runtime, strategy, Sequential{Flatten{}, Dense{64}, relu, Dense{2}}, Adam{}, SoftmaxCrossEntropy{}};
  BackgroundFit fit(trainer, small_dataset(4'000).shuffle().batch(16), {.epochs = 1'000'000});
  std::int64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    const auto checkpoint = checkpoint_of(trainer.parameters());
    CHECK(checkpoint.step >= last);
    last = checkpoint.step;
    for (const auto& value : checkpoint.values)
      if (value.name.ends_with("/updates"))
        CHECK(static_cast<std::int64_t>(value.value.data<float>()[0]) == checkpoint.step);
  }
  fit.stop();
  fit.get();
}

TEST_CASE("a store with a broken parameter has no checkpoint") {
  const auto store = trained_for(2);
  const auto name = store->entries().front().name;
  store->break_copies({{name, 0}, {name, 1}}, "it broke");
  CHECK_THROWS_WITH(checkpoint_of(*store), Contains("it broke"));
}
