#pragma once

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/plan/lower.hpp"
#include "troupe/actors/task/function_task.hpp"
#include "troupe/ops/graph/graph.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe::bench {

/// A plan that feeds one graph with the input `x`, whose value never changes, and drops its output `y`.
inline Plan plan_for(const Graph& graph, Grain grain, std::int32_t capacity) {
  Plan plan;
  PlanActor source;
  source.name = "source";
  source.role = ActorRole::source;
  source.outputs.push_back({.info = graph.info(graph.sources(kInput).at(0))});
  source.make_task = function_source([](std::int64_t) { return 1; }, [](const Firing&) {});
  const auto feeder = plan.add(std::move(source));
  plan.edge_of(feeder, 0, capacity);
  LowerOptions options;
  options.inputs = {{"x", {feeder, 0}}};
  options.capacity = capacity;
  const auto outputs = lower(plan, graph, options);
  PlanActor sink;
  sink.name = "sink";
  sink.role = ActorRole::sink;
  sink.make_task = function_task([](const Firing&) {});
  const auto id = plan.add(std::move(sink));
  for (const auto& [name, node] : outputs) plan.connect(node, id);
  return in_grain(std::move(plan), grain);
}

}  // namespace troupe::bench
