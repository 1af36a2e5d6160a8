// Two independent branches of a graph run concurrently, because every op is an actor. The trace of one step shows both
// at work.

#include <algorithm>
#include <cstdio>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/plan/lower.hpp"
#include "troupe/actors/spawn/spawned_plan.hpp"
#include "troupe/actors/task/function_task.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/matmul.hpp"

using namespace troupe;

int main() {
  constexpr std::int64_t kSize = 512, kSteps = 4;
  GraphBuilder builder;
  const auto x = builder.input("x", {kSize, kSize});
  Value left = x, right = x;
  for (int i = 0; i < 3; ++i) {
    GraphBuilder::Scope scope(builder, "left");
    left = matmul(left, x);
  }
  for (int i = 0; i < 3; ++i) {
    GraphBuilder::Scope scope(builder, "right");
    right = matmul(right, x);
  }
  builder.output("sum", add(left, right));
  const auto graph = std::move(builder).build();

  Plan plan;
  PlanActor source{.name = "source", .role = ActorRole::source};
  source.outputs.push_back({.info = {{kSize, kSize}, DType::float32}});
  source.make_task = function_source([](std::int64_t) { return 1; }, [](const Firing&) {});
  const auto feeder = plan.add(source);
  const auto ops = lower(plan, graph, {.inputs = {{"x", {feeder, 0}}}});
  PlanActor sink{.name = "sink", .role = ActorRole::sink, .make_task = function_task([](const Firing&) {})};
  plan.connect(ops.at("sum"), plan.add(sink));

  Runtime runtime({.workers = 2});
  const auto trace = std::make_shared<Trace>();
  SpawnedPlan spawned(runtime, split(plan), {}, trace);
  spawned.start({.max_steps = kSteps});
  spawned.wait();

  auto events = trace->events();
  std::sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  const auto start = events.front().begin;
  const auto ms = [&](auto time) { return std::chrono::duration<double, std::milli>(time - start).count(); };
  for (const auto& event : events)
    if (event.step == kSteps - 1)
      std::printf("%8.3f to %8.3f ms  %s\n", ms(event.begin), ms(event.end), event.task.c_str());
}
