// User-defined actors in a pipeline of tensors: a source of readings, a transform that smooths them, and a sink that
// prints them. In between, an op of the library scales them. Credits bound how far the source runs ahead.

#include <iostream>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/plan/lower.hpp"
#include "troupe/actors/plan/plan_text.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/examples/pipeline_actors.hpp"
#include "troupe/ops/library/elementwise.hpp"

using namespace troupe;
using namespace troupe::examples;

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
