// An actor with its own firing rule: a dispatcher that gives the next batch to whichever of two workers is free.

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/run/port_actor.hpp"
#include "troupe/actors/run/spawned_plan.hpp"

using namespace troupe;

namespace {

constexpr std::int64_t kBatches = 200;
const TensorInfo kNumbers{Shape{4}, DType::float32};

class Numbers : public PortActor {
  using PortActor::PortActor;
  void fire(std::int64_t step, std::span<const Tensor>, std::span<Tensor> outputs) override {
    outputs[0] = Tensor::from<float>(kNumbers.shape, std::vector<float>(4, static_cast<float>(step)));
  }
};

/// Passes batches on uncopied: each is returned to its source when a worker has returned it.
class Dispatcher : public PortActor {
  using PortActor::PortActor;
  void advance() override {
    for (std::uint32_t worker = 0; worker < outputs() && has(0); ++worker) {
      if (!has_free(worker)) continue;
      auto batch = take(0);
      const auto slot = send_output(worker, std::exchange(batch.tensor, {}), batch.step);
      lent_[{worker, slot}] = batch;
    }
  }
  void on_slot_free(std::uint32_t worker, std::uint32_t slot) override {
    give_back(0, lent_.extract({worker, slot}).mapped());
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, Arrival> lent_;
};

/// Multiplies so many thousand times.
template <int kThousands>
class Worker : public PortActor {
  using PortActor::PortActor;
  void fire(std::int64_t, std::span<const Tensor> inputs, std::span<Tensor> outputs) override {
    outputs[0] = inputs[0].clone();
    volatile float product = 1.0F;
    for (int i = 0; i < 1000 * kThousands; ++i) product *= 1.0F;
  }
};

using WorkersOfBatch = std::map<int, std::vector<std::uint32_t>>;

/// Takes results in whatever order they come.
class Collector : public PortActor {
 public:
  Collector(caf::actor_config& config, WorkersOfBatch& record) : PortActor(config), record_(record) {}

 private:
  void advance() override {
    for (std::uint32_t worker = 0; worker < inputs(); ++worker) {
      if (!has(worker)) continue;
      auto result = take(worker);
      record_[static_cast<int>(result.tensor.data<float>()[0])].push_back(worker);
      give_back(worker, result);
    }
  }
  WorkersOfBatch& record_;
};

}  // namespace

int main() {
  WorkersOfBatch record;
  Plan plan;
  const auto source = plan.add(external<Numbers>("numbers", {.outputs = {kNumbers}}));
  const auto dispatcher = plan.add(external<Dispatcher>(
      "dispatcher", {.inputs = {kNumbers}, .outputs = {kNumbers, kNumbers}, .rule = FiringRule::own}));
  const auto collector = plan.add(
      external<Collector>("collector", {.inputs = {kNumbers, kNumbers}, .rule = FiringRule::own}, std::ref(record)));
  plan.connect(source, 0, dispatcher, 4);
  plan.actors[dispatcher].inputs[0].holds = 2;
  const ActorId workers[] = {plan.add(external<Worker<400>>("slow", {{kNumbers}, {kNumbers}})),
                             plan.add(external<Worker<100>>("fast", {{kNumbers}, {kNumbers}}))};
  for (int worker = 0; worker < 2; ++worker) {
    plan.connect(dispatcher, worker, workers[worker]);
    plan.connect(workers[worker], 0, collector);
  }
  SpawnedPlan spawned(Runtime({.workers = 4}), split(plan));
  spawned.start({.max_steps = kBatches});
  spawned.wait();
  const auto done_by = [&](std::uint32_t worker) {
    return std::ranges::count(record, std::vector<std::uint32_t>{worker}, &WorkersOfBatch::value_type::second);
  };
  std::printf("once by the slow worker %td, by the fast one %td\n", done_by(0), done_by(1));
  return done_by(0) > 0 && done_by(1) > 0 && done_by(0) + done_by(1) == kBatches ? 0 : 1;
}
