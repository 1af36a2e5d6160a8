// Your own actors in a pipeline of tensors: a source that makes readings, a transform that smooths them, and a sink
// that prints them. In between an op of the library scales them. Credits bound how far the source runs ahead.

#include <cstdio>
#include <iostream>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/plan/lower.hpp"
#include "troupe/actors/plan/plan_text.hpp"
#include "troupe/actors/run/port_actor.hpp"
#include "troupe/actors/run/spawned_plan.hpp"
#include "troupe/ops/elementwise.hpp"

using namespace troupe;

namespace {

const TensorInfo kReading{Shape{3}, DType::float32};

class Sensor : public PortActor {
  using PortActor::PortActor;
  bool has_step(std::int64_t step) override { return step < 5; }
  void fire(std::int64_t step, std::span<const Tensor>, std::span<Tensor> outputs) override {
    const auto reading = static_cast<float>(step * step);
    outputs[0] = Tensor::from<float>(kReading.shape, std::vector<float>{reading, -reading, 1.0F});
  }
};

class Smoother : public PortActor {
 public:
  Smoother(caf::actor_config& config, float keep) : PortActor(config), keep_(keep) {}

 private:
  void fire(std::int64_t, std::span<const Tensor> inputs, std::span<Tensor> outputs) override {
    outputs[0] = Tensor(kReading.shape, kReading.dtype);
    for (std::size_t i = 0; i < memory_.size(); ++i)
      outputs[0].mutable_data<float>()[i] = memory_[i] =
          keep_ * memory_[i] + (1.0F - keep_) * inputs[0].data<float>()[i];
  }
  float keep_;
  std::array<float, 3> memory_{};
};

class Printer : public PortActor {
  using PortActor::PortActor;
  void fire(std::int64_t step, std::span<const Tensor> inputs, std::span<Tensor>) override {
    const auto values = inputs[0].data<float>();
    std::printf("step %lld: %6.2f %6.2f %6.2f\n", static_cast<long long>(step), values[0], values[1], values[2]);
  }
};

}  // namespace

int main() {
  GraphBuilder builder;
  builder.output("scaled", scale(builder.input("reading", kReading.shape), 10.0));
  const auto graph = std::move(builder).build();

  Plan plan;
  const auto sensor = plan.add(external<Sensor>("sensor", {.outputs = {kReading}}));
  const auto smoother = plan.add(external<Smoother>("smoother", {.inputs = {kReading}, .outputs = {kReading}}, 0.5F));
  const auto printer = plan.add(external<Printer>("printer", {.inputs = {kReading}}));
  plan.connect(sensor, 0, smoother, 2);
  const auto ops = lower(plan, graph, {.inputs = {{"reading", {smoother, 0}}}});
  plan.connect(ops.at("scaled"), printer);

  Runtime runtime;
  SpawnedPlan spawned(runtime, split(plan));
  spawned.start({.first_step = 0, .max_steps = 100});
  spawned.wait();
  std::cout << to_text(spawned.plan());
}
