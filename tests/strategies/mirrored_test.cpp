#include "troupe/strategies/mirrored.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/system/trace.hpp"
#include "troupe/examples/models.hpp"
#include "troupe/ops/data/fashion_mnist.hpp"
#include "troupe/strategies/one_device.hpp"
#include "troupe/strategies/training/trainer.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/extent.hpp"
#include "troupe/tests/plans/test_plans.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// The loss of each of 240 steps (two epochs of 118 and a bit, the last batch of an epoch uneven) on the real data.
// Fewer under a sanitizer.
const std::size_t kStepsOfCurve = has_sanitizer() ? 40 : 240;
const double kLossLeft = has_sanitizer() ? 0.95 : 0.5;

std::vector<double> loss_curve(const Strategy& strategy) {
  Runtime runtime({.cpu_devices = strategy.num_replicas_in_sync()});
  Trainer trainer(runtime, strategy, examples::mlp(), Sgd{.lr = 0.05}, SoftmaxCrossEntropy{}, {.seed = 1});
  std::vector<double> losses;
  trainer.fit(fashion_mnist(Split::train).shuffle(60'000).batch(512),
              {.epochs = 3, .max_steps = kStepsOfCurve, .on_step = [&](const StepMetrics& step) {
                 losses.push_back(step.loss);
               }});
  return losses;
}

Plan plan_with_buckets(std::int64_t first, std::int64_t others) {
  const auto spec = small_spec();
  const auto data = small_dataset(8).batch(4);
  const Mirrored strategy(two_places(), {.first_bucket_bytes = first, .bucket_bytes = others});
  return strategy.training_plan({spec, data, 0, {}});
}

std::vector<std::int64_t> bucket_elements(const Plan& plan) {
  std::vector<std::int64_t> sizes;
  for (const auto& actor : plan.actors)
    if (actor.role == ActorRole::collective && actor.replica == 0)
      sizes.push_back(actor.outputs[0].info.shape.elements());
  return sizes;
}

/// Steps whose first reduction began before the last op of the backward pass had ended.
int overlapped_steps(const Trace& trace) {
  std::map<std::int64_t, Trace::Clock::time_point> first_reduction, last_backward;
  for (const auto& event : trace.events()) {
    if (event.task.starts_with("all_reduce")) {
      auto& first = first_reduction.try_emplace(event.step, event.begin).first->second;
      first = std::min(first, event.begin);
    }
    if (event.task.starts_with("grad.")) last_backward[event.step] = std::max(last_backward[event.step], event.end);
  }
  return static_cast<int>(std::count_if(first_reduction.begin(), first_reduction.end(), [&](const auto& reduction) {
    return reduction.second < last_backward.at(reduction.first);
  }));
}

/// Steps in which reducing overlapped the backward pass, over a few schedules that the seeds fix. A single schedule may
/// have no such step.
int overlapped_steps(Grain grain, std::int64_t bucket_bytes) {
  constexpr std::uint64_t kSchedules = 5;
  int overlapped = 0;
  for (std::uint64_t seed = 0; seed < kSchedules; ++seed) {
    auto runtime = scheduled_runtime(seed, 2);
    const Mirrored strategy(two_places(), {.first_bucket_bytes = bucket_bytes, .bucket_bytes = bucket_bytes});
    const auto trace = std::make_shared<Trace>();
    Trainer trainer(runtime, strategy, small_spec().model, Sgd{.lr = 0.05}, SoftmaxCrossEntropy{},
                    {.grain = grain, .trace = trace});
    // Rows enough that the ops of a batch are not so small that they all belong to one chain.
    trainer.fit(small_dataset(24576).batch(12288), {.epochs = 6});
    overlapped += overlapped_steps(*trace);
  }
  return overlapped;
}

}  // namespace

TEST_CASE("with small buckets reducing begins before the backward pass has ended, with one bucket it cannot") {
  for (const auto grain : {Grain::fused, Grain::chains, Grain::per_op}) {
    CHECK(overlapped_steps(grain, 1) > 0);
    CHECK(overlapped_steps(grain, 1 << 20) == 0);
  }
}

TEST_CASE("on the real data 2 and 3 replicas have the loss curve of one device") {
  const auto one = loss_curve(OneDevice());
  REQUIRE(one.size() == kStepsOfCurve);
  CHECK(one.back() < kLossLeft * one.front());
  for (int replicas : {2, 3}) {
    std::vector<Device> devices;
    for (int i = 0; i < replicas; ++i) devices.push_back({DeviceType::cpu, i});
    const auto many = loss_curve(Mirrored(devices));
    REQUIRE(many.size() == kStepsOfCurve);
    for (std::size_t step = 0; step < one.size(); ++step) CHECK(std::abs(many[step] - one[step]) <= 1e-3 * one[step]);
  }
}

TEST_CASE("buckets fill in the order of the backward pass") {
  // The gradients as they are made: bias 2, weights 8x2, bias 8, weights 12x8; then the magnitude; each padded to 16
  // elements.
  CHECK(bucket_elements(plan_with_buckets(1 << 20, 1 << 20)) == std::vector<std::int64_t>{16 + 16 + 16 + 16 + 96});
  CHECK(bucket_elements(plan_with_buckets(1, 1)).size() == 4);
  const auto mixed = bucket_elements(plan_with_buckets(80, 1 << 20));
  REQUIRE(mixed.size() == 2);
  CHECK(mixed[0] == 48);
  CHECK(mixed[1] == 128);
}
