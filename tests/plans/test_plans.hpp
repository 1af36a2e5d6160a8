#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/actors/plan/grain.hpp"
#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/system/runtime.hpp"
#include "troupe/actors/task/function_task.hpp"
#include "troupe/actors/task/spawn_context.hpp"
#include "troupe/ops/nn/layers.hpp"
#include "troupe/strategies/strategy.hpp"

namespace troupe::testing {

/// A runtime without threads, whose actors run in an order drawn from `seed`.
Runtime scheduled_runtime(std::uint64_t seed, int devices = 3);

/// cpu:0 and cpu:1.
std::vector<Place> two_places();

/// What most edges of these plans carry.
inline const TensorInfo kPair{Shape{2}, DType::float32};

/// All ways to make segments.
inline constexpr Grain kGrains[] = {Grain::per_op, Grain::chains, Grain::fused};

/// An actor with float32[2] outputs that runs a function.
PlanActor function_actor(const std::string& name, int outputs, FunctionTask::Function function);
/// A source of one float32[2] a step: {step, -step}, for `steps` steps.
PlanActor counting_source(const std::string& name, std::int64_t steps);
/// A sink that writes down the first element of its first input.
PlanActor recording_sink(const std::string& name, std::vector<float>& record);

/// More steps than any test waits for.
inline constexpr std::int64_t kForEver = 1'000'000;

/// `count` numbers from first + offset on: what a chain of as many actors as `offset` records.
std::vector<float> counted(std::int64_t first, std::int64_t count, float offset);

/// source -> a chain of `length` actors that each add 1 -> sink.
Plan chain_plan(int length, std::int64_t steps, std::vector<float>& record, std::int32_t capacity = 1);

/// The segment that has the actor with this name. Throws Error if there is none.
const PlanSegment& segment_with(const Plan& plan, std::string_view actor);

/// A context with the data and a sink for metrics that does nothing.
SpawnContext context_for(const Dataset& data);

/// 4 x 3 points of two kinds, drawn from a seed; `rows` of them.
Dataset small_dataset(std::int64_t rows);
/// A perceptron of two layers, trained by momentum, for small_dataset.
TrainingSpec small_spec();

}  // namespace troupe::testing
