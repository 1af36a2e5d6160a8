#pragma once

#include <cstdint>
#include <functional>
#include <memory>

// Names of plans and of the types that run them, for headers that only pass them on. A program that only trains does
// not compile these types.

namespace troupe {

struct OutputRef;
struct Plan;
struct PlanActor;
struct PlanParameter;
struct ParameterRef;
class SpawnContext;
class Task;

using ActorId = std::int32_t;
using EdgeId = std::int32_t;

using TaskFactory = std::function<std::unique_ptr<Task>(const PlanActor&, SpawnContext&)>;

}  // namespace troupe
