#include "troupe/strategies/step/gradient_hook.hpp"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <numeric>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/plan/plan_text.hpp"
#include "troupe/actors/store/lease.hpp"
#include "troupe/actors/store/update_counter.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/strategies/local_sgd.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/strategies/gradient_sender.hpp"
#include "troupe/tests/strategies/training/small_trainer.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

using Hook = std::shared_ptr<const GradientHook>;

Mirrored mirrored(int replicas, const Hook& hook, bool atomic_steps = false) {
  return Mirrored(cpu_devices(replicas),
                  {.first_bucket_bytes = 64, .bucket_bytes = 256, .atomic_steps = atomic_steps, .hook = hook});
}

ParameterServer servers(const ConsistencyRule& rule, const Hook& hook) {
  return {places_of(cpu_devices(rule.workers)), {Place{}, Place{}}, rule, {.hook = hook}};
}

FitResult fit(Runtime& runtime, const Strategy& strategy, std::string& hash, std::int64_t epochs = 2) {
  auto trainer = small_trainer(runtime, strategy, {.seed = 3});
  const auto result = trainer.fit(data_of_50(), {.epochs = epochs});
  hash = trainer.parameters().hash(0);
  return result;
}

/// The name of replica 0's state of a hook in the plan of a trainer, which has one such state.
std::string kept_name(const Trainer& trainer) {
  std::string name;
  for (const auto& parameter : trainer.training_plan(data_of_50()).parameters)
    if (parameter.ref.name.starts_with("hook/") && parameter.ref.name.ends_with("/kept@0")) name = parameter.ref.name;
  return name;
}

}  // namespace

TEST_CASE("16-bit numbers are the nearest ones") {
  const auto gradient = random_tensor({5, 3}, 1);
  for (const auto dtype : {DType::float16, DType::bfloat16}) {
    Sender sender(HalfPrecision{dtype}, gradient.shape());
    const auto received = elements(sender.send(gradient));
    for (std::size_t i = 0; i < received.size(); ++i) {
      const auto exact = gradient.data<float>()[i];
      CHECK(std::abs(received[i] - exact) <= std::abs(exact) * (dtype == DType::float16 ? 0x1p-11F : 0x1p-8F));
      CHECK(received[i] != 0.0F);
    }
  }
}

TEST_CASE("of the largest elements nothing is left, and what is left is sent later") {
  constexpr std::size_t kElements = 20, kPicked = 4;
  Sender sender(TopKGradients{0.2}, {4, 5});
  std::vector<float> left(kElements);
  for (std::uint64_t step = 0; step < 10; ++step) {
    const auto gradient = random_tensor({4, 5}, step);
    for (std::size_t i = 0; i < kElements; ++i) left[i] += gradient.data<float>()[i];
    std::vector<std::size_t> order(kElements);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater<>(), [&](auto i) { return std::abs(left[i]); });
    std::vector<float> expected(kElements);
    for (std::size_t i = 0; i < kPicked; ++i) std::swap(expected[order[i]], left[order[i]]);
    CHECK(elements(sender.send(gradient)) == expected);
    CHECK(sender.state("kept") == left);
  }
  CHECK(sender.sent_elements() == 2 * kPicked);
}

TEST_CASE("a step whose loss is not finite leaves what is kept as it is") {
  const auto finite = random_tensor({6, 8}, 1);
  Tensor broken = random_tensor({6, 8}, 2);
  broken.mutable_data<float>()[11] = std::numeric_limits<float>::quiet_NaN();
  Sender picked(TopKGradients{0.1}, {6, 8}), factored(PowerSgd{1}, {6, 8});
  picked.send(finite);
  factored.send(finite);
  const auto kept = picked.state("kept"), left = factored.state("0/kept"), right = factored.state("0/right");
  picked.send(broken, 0.0F);
  factored.send(broken, 0.0F);
  CHECK(picked.state("kept") == kept);
  CHECK(factored.state("0/kept") == left);
  CHECK(factored.state("0/right") == right);
}

TEST_CASE("a loss that is not finite on one replica leaves what all of them keep as it is") {
  const auto hook = gradient_hook_of(GENERATE("top_k:0.2", "power_sgd:1"));
  // In each epoch one batch of each replica is whole, and in one of them a number is none.
  const auto poisoned = [](bool poison) {
    Tensor x({32, 12}, DType::float32), y({32}, DType::int32);
    for (std::size_t i = 0; i < 32 * 12; ++i) x.mutable_data<float>()[i] = static_cast<float>(i % 7) - 3.0F;
    for (std::size_t i = 0; i < 32; ++i) y.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i % 2);
    if (poison) x.mutable_data<float>()[17 * 12] = std::numeric_limits<float>::quiet_NaN();
    return Dataset::from_arrays({{"x", x}, {"y", y}}).batch(8);
  };
  auto runtime = scheduled_runtime(2);
  const auto strategy = mirrored(2, hook);
  Trainer trainer(runtime, strategy, Sequential{Dense{8, relu}, Dense{2}}, Sgd{.lr = 0.1}, SoftmaxCrossEntropy{},
                  {.seed = 3});
  trainer.fit(poisoned(true), {.epochs = 1, .on_non_finite_loss = NonFiniteLoss::skip});
  const auto result = trainer.fit(poisoned(false), {.epochs = 3});
  CHECK(std::isfinite(result.epochs.back().training.loss));
  CHECK(trainer.parameters().hash(0) == trainer.parameters().hash(1));
}

TEST_CASE("if all elements are sent replicas and servers come to the bits without a hook") {
  const auto all = std::make_shared<TopKGradients>(1.0);
  const int replicas = GENERATE(1, 2, 3);
  const auto grain = GENERATE(Grain::fused, Grain::per_op);
  const bool atomic_steps = GENERATE(false, true);
  CAPTURE(replicas, grain, atomic_steps);
  auto runtime = scheduled_runtime(5);
  const auto plain = train(runtime, Mirrored(cpu_devices(replicas)), data_of_50(), grain);
  CHECK(train(runtime, mirrored(replicas, all, atomic_steps), data_of_50(), grain) == plain);
  std::string hash;
  fit(runtime, servers(ConsistencyRule::synchronous(replicas), all), hash);
  CHECK(hash == plain.hash);
}

TEST_CASE("replicas with a hook stay alike and learn, in every grain, to the same bits") {
  const std::vector<Hook> hooks{std::make_shared<HalfPrecision>(DType::float16),
                                std::make_shared<HalfPrecision>(DType::bfloat16), std::make_shared<TopKGradients>(0.2),
                                std::make_shared<PowerSgd>(1)};
  const auto& hook = hooks[static_cast<std::size_t>(GENERATE(0, 1, 2, 3))];
  const int replicas = GENERATE(2, 3);
  auto runtime = scheduled_runtime(9);
  const auto fused = train(runtime, mirrored(replicas, hook), data_of_50(), Grain::fused, 6);
  CHECK(fused.losses.back() < 0.9 * fused.losses.front());
  CHECK(train(runtime, mirrored(replicas, hook), data_of_50(), Grain::per_op, 6) == fused);
  const auto plain = train(runtime, Mirrored(cpu_devices(replicas)), data_of_50(), Grain::fused, 6);
  CHECK(fused.hash != plain.hash);
  CHECK(fused.losses.back() == Approx(plain.losses.back()).epsilon(0.4));
}

TEST_CASE("a replica with a hook decides once whether a step is applied, for parameters and for what it keeps") {
  auto runtime = scheduled_runtime(9);
  const auto strategy = mirrored(2, std::make_shared<TopKGradients>(0.2), GENERATE(false, true));
  const auto text = to_text(small_trainer(runtime, strategy).training_plan(data_of_50()));
  std::size_t decisions = 0;
  for (auto at = text.find("\nop step_is_finite"); at != std::string::npos;
       at = text.find("\nop step_is_finite", at + 1))
    ++decisions;
  CHECK(decisions == 2);
}

TEST_CASE("a training whose replicas keep something is recorded from its beginning only") {
  auto runtime = scheduled_runtime(4);
  const auto file = std::filesystem::temp_directory_path() / ("troupe_hook_" + std::to_string(getpid()));
  const auto strategy = servers(ConsistencyRule::asynchronous(2), std::make_shared<TopKGradients>(0.2));
  const auto fit = [&](Trainer& trainer, const std::string& record, const std::string& replay) {
    trainer.fit(data_of_50(), {.epochs = 1, .record = record, .replay = replay});
    return trainer.parameters().hash(0);
  };
  auto recorded = small_trainer(runtime, strategy, {.seed = 3}),
       replayed = small_trainer(runtime, strategy, {.seed = 3});
  const auto hash = fit(recorded, file.string(), "");
  CHECK(fit(replayed, "", file.string()) == hash);
  CHECK_THROWS_WITH(fit(recorded, file.string(), ""),
                    Contains("[record] replicas keep the part of gradients that they have not sent"));
  std::filesystem::remove(file);
}

TEST_CASE("workers of servers encode, and servers decode, by every rule") {
  const std::vector<Hook> hooks{std::make_shared<HalfPrecision>(), std::make_shared<TopKGradients>(0.2),
                                std::make_shared<PowerSgd>(1)};
  const auto& hook = hooks[static_cast<std::size_t>(GENERATE(0, 1, 2))];
  const auto rule = GENERATE(ConsistencyRule::synchronous(3), ConsistencyRule::asynchronous(3),
                             ConsistencyRule::compensated(3, 0.04), ConsistencyRule::with_backup(3, 1));
  for (std::uint64_t seed = 0; seed < schedules(5); ++seed) {
    auto runtime = scheduled_runtime(seed);
    std::string hash;
    const auto result = fit(runtime, servers(rule, hook), hash, 6);
    CHECK(result.epochs.back().training.loss < 0.9 * result.epochs.front().training.loss);
  }
}

TEST_CASE("after a failure replicas go on, and what they kept starts anew") {
  auto runtime = scheduled_runtime(1);
  const auto strategy = mirrored(2, std::make_shared<TopKGradients>(0.2));
  auto trainer = small_trainer(runtime, strategy, {.seed = 3});
  trainer.fit(data_of_50(), {.epochs = 1});
  const auto names = trainer.parameters().names();
  CHECK(std::ranges::none_of(names, [](const auto& name) { return name.starts_with("hook/"); }));
  const auto kept = kept_name(trainer);
  const auto update = trainer.parameters().counter({kept, 0});
  auto lease = trainer.parameters().borrow({}, {{kept, 0}}, "a test", {});
  update->begin_update();
  lease.end_dirty("it failed");
  CHECK_THROWS_WITH(trainer.fit(data_of_50(), {.epochs = 1}), Contains("may be half-written: it failed"));
  trainer.recover();
  CHECK(elements(trainer.parameters().get(kept)) ==
        std::vector<float>(static_cast<std::size_t>(trainer.parameters().get(kept).elements())));
  CHECK_NOTHROW(trainer.fit(data_of_50(), {.epochs = 1}));
}

TEST_CASE("what a hook keeps is added to gradients of the same trainer and the same parameters alone") {
  const Hook hook = std::make_shared<TopKGradients>(0.25);
  const Mirrored copies(cpu_devices(2), {.hook = hook});
  const ParameterServer shards(places_of(cpu_devices(2)), {Place{}}, ConsistencyRule::synchronous(2), {.hook = hook});
  const Strategy& strategy = GENERATE(0, 1) == 0 ? static_cast<const Strategy&>(copies) : shards;
  const auto model = [](const Inputs& in) -> Outputs {
    const auto a = in.builder().parameter("a", {4}, Initializer::zeros());
    const auto b = in.builder().parameter("b", {4}, Initializer::zeros());
    return reduce_sum(mul(in["g"], add(a, b)), std::vector<std::int64_t>{1});
  };
  const auto loss = [](const Outputs& out, const Inputs&) { return out[""]; };
  const std::vector<float> g{4, 3, 2, 1, 4, 3, 2, 1};
  const auto data = Dataset::from_arrays({{"g", Tensor::from<float>({2, 4}, g)}}).batch(2);
  auto runtime = scheduled_runtime(3);
  const auto store = std::make_shared<ParameterStore>();
  const auto fit = [&](const char* trainer, const std::string& frozen) {
    const auto optimizer = Optimizer(Sgd{.lr = 1.0}).frozen([&](const std::string& name) { return name == frozen; });
    Trainer(runtime, strategy, model, optimizer, loss, {.parameters = store, .name = trainer}).fit(data);
  };
  using Numbers = std::vector<float>;
  fit("first", "b");
  CHECK(elements(store->get("a")) == Numbers{-4, 0, 0, 0});
  // Another trainer of the same parameter, and the same trainer of another parameter.
  fit("second", "b");
  CHECK(elements(store->get("a")) == Numbers{-8, 0, 0, 0});
  fit("first", "a");
  CHECK(elements(store->get("b")) == Numbers{-4, 0, 0, 0});
  // The first trainer has kept 3 for the second element, and adds 3.
  fit("first", "b");
  CHECK(elements(store->get("a")) == Numbers{-8, -6, 0, 0});
}

TEST_CASE("a hook is named by a text") {
  CHECK(gradient_hook_of("none") == nullptr);
  CHECK(dynamic_cast<const HalfPrecision*>(gradient_hook_of("float16").get()) != nullptr);
  CHECK(dynamic_cast<const HalfPrecision*>(gradient_hook_of("bfloat16").get()) != nullptr);
  CHECK(dynamic_cast<const TopKGradients*>(gradient_hook_of("top_k:0.01").get()) != nullptr);
  CHECK(dynamic_cast<const PowerSgd*>(gradient_hook_of("power_sgd:4").get()) != nullptr);
  for (const auto* text : {"", "half", "top_k", "top_k:", "top_k:x", "power_sgd:1.5", "float16:2"})
    CHECK_THROWS_WITH(gradient_hook_of(text), "[gradient_hook] '" + std::string(text) +
                                                  "' is not one of none, float16, bfloat16, top_k:SHARE and "
                                                  "power_sgd:RANK");
}

TEST_CASE("hooks that cannot be are refused") {
  CHECK_THROWS_WITH(HalfPrecision(DType::int32), "[half_precision] sends float16 or bfloat16, not int32");
  CHECK_THROWS_WITH(TopKGradients(0.0), Contains("[top_k_gradients] the part that is sent must be in (0, 1], not 0"));
  CHECK_THROWS_WITH(TopKGradients(1.5), Contains("must be in (0, 1], not 1.5"));
  const Hook hook = std::make_shared<HalfPrecision>();
  CHECK_THROWS_WITH(LocalSgd(places_of(cpu_devices(2)), {Place{}}, {.local_steps = 3}, {.hook = hook}),
                    Contains("[local_sgd] sends no gradients, so it has no use for a hook"));
  const auto make_actor = [](const TensorInfo&, int) { return PlanActor{}; };
  CHECK_THROWS_WITH(LocalSgd(places_of(cpu_devices(2)), {Place{}}, {}, {.gradient_actor = make_actor}),
                    Contains("[local_sgd] sends no gradients, so it has no use for an actor"));
  CHECK_THROWS_WITH(PowerSgd(0), "[power_sgd] the factors need at least one column, not 0");
}
