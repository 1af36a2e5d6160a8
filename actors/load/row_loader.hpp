#pragma once

#include <memory>
#include <span>
#include <string>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/task/task.hpp"
#include "troupe/ops/data/dataset.hpp"

namespace troupe {

class SpawnContext;

/// Whether these fields of a data set are kept on a device; see Dataset::keep_on_devices().
bool kept_on(Device device, const Dataset& data, std::span<const std::string> fields);

/// Adds a loader on a device that keeps the fields of a data set, which the spawn context has under the name `source`.
/// It gathers batches by the indices of their samples, int32[B]. Its outputs are the fields. In the fused grain it is a
/// part of the replica's segment.
ActorId add_row_loader(Plan& plan, const std::string& source, const Dataset& data, std::span<const std::string> fields,
                       const OutputRef& numbers, int replica, const Place& place);

/// The spawn context's DeviceArrays hold the fields while the task lives. Throws Error that names the remedy if the
/// device has no room for them.
std::unique_ptr<Task> make_row_loader_task(const PlanActor& actor, SpawnContext& context);

}  // namespace troupe
