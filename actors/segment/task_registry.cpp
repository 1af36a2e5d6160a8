#include "troupe/actors/segment/task_registry.hpp"

#include <map>
#include <mutex>

#include "troupe/actors/collective/collective_tasks.hpp"
#include "troupe/actors/load/loader.hpp"
#include "troupe/actors/task/op_task.hpp"
#include "troupe/actors/task/spawn_context.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, TaskFactory> factories{
      {"op", make_op_task},
      {"loader", make_loader_task},
      {"load_rows", make_row_loader_task},
      {"begin_collective", make_begin_collective_task},
      {"collective", make_collective_task},
  };
};

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

void register_task(const std::string& kind, TaskFactory factory) {
  auto& [mutex, factories] = registry();
  std::lock_guard lock(mutex);
  if (!factories.try_emplace(kind, std::move(factory)).second)
    throw Error("plan", "there is a task of kind '" + kind + "' already");
}

TaskFactory find_task(const std::string& kind) {
  auto& [mutex, factories] = registry();
  std::lock_guard lock(mutex);
  const auto entry = factories.find(kind);
  if (entry == factories.end()) throw Error("plan", "there is no task of kind '" + kind + "'");
  return entry->second;
}

std::unique_ptr<Task> make_task(const PlanActor& actor, SpawnContext& context) {
  if (actor.make_task) return actor.make_task(actor, context);
  const auto in_context = context.tasks.find(actor.task.kind);
  const auto factory = in_context != context.tasks.end() ? in_context->second : find_task(actor.task.kind);
  return factory(actor, context);
}

}  // namespace troupe
