// An actor with its own firing rule: a dispatcher that gives the next batch to whichever of two workers is free.

#include <atomic>
#include <cstdio>
#include <map>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/ports/port_actor.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"

using namespace troupe;

constexpr int kBatches = 200, kSumOfNumbers = kBatches * (kBatches - 1) / 2;
const TensorInfo kNumber{Shape{}, DType::float32};

class Numbers : public PortActor {
  using PortActor::PortActor;
  void fire(std::int64_t step, std::span<const Tensor>, std::span<Tensor> outputs) override {
    outputs[0] = Tensor::scalar(static_cast<float>(step));
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

struct Record {
  std::atomic<int> batches = 0, sum = 0;
};

/// Multiplies so many thousand times, and counts batches and adds up their numbers.
class Worker : public PortActor {
 public:
  Worker(caf::actor_config& config, int thousands, Record& record)
      : PortActor(config), thousands_(thousands), record_(record) {}
  void fire(std::int64_t, std::span<const Tensor> inputs, std::span<Tensor>) override {
    volatile float product = 1.0F;
    for (int i = 0; i < 1000 * thousands_; ++i) product = product * 1.0F;
    ++record_.batches;
    record_.sum += static_cast<int>(inputs[0].item<float>());
  }

 private:
  int thousands_;
  Record& record_;
};

int main() {
  Record slow, fast;
  Plan plan;
  const auto source = plan.add(external<Numbers>("numbers", {.outputs = {kNumber}}));
  const auto dispatcher = plan.add(external<Dispatcher>(
      "dispatcher", {.inputs = {kNumber}, .outputs = {kNumber, kNumber}, .rule = FiringRule::own}));
  plan.connect(source, 0, dispatcher, 4);
  plan.actors[dispatcher].inputs[0].holds = 2;
  plan.connect(dispatcher, 0, plan.add(external<Worker>("slow", {.inputs = {kNumber}}, 400, std::ref(slow))));
  plan.connect(dispatcher, 1, plan.add(external<Worker>("fast", {.inputs = {kNumber}}, 100, std::ref(fast))));
  SpawnedPlan spawned(Runtime({.workers = 4}), split(plan));
  spawned.start({.max_steps = kBatches});
  spawned.wait();
  std::printf("%d by the slow worker, %d by the fast one\n", slow.batches.load(), fast.batches.load());
  const bool each_once = slow.batches + fast.batches == kBatches && slow.sum + fast.sum == kSumOfNumbers;
  return each_once && slow.batches > 0 && fast.batches > 0 ? 0 : 1;
}
