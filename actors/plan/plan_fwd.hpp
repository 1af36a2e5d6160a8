#pragma once

#include <cstdint>
#include <functional>
#include <memory>

// Forward declarations of a plan and of the types that run it, for headers that only pass them on. A program that
// includes the training headers alone does not compile the definitions.

namespace troupe {

struct HeldParameter;
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
