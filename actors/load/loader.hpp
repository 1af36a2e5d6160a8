#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/task/task.hpp"
#include "troupe/ops/data/dataset.hpp"

// Loaders of one replica. `source` names a data set in the spawn context, which must be like `data`.

namespace troupe {

/// Adds the loader of one replica to a plan: it loads the replica's part of every batch of an epoch, from the run's
/// first batch on. Its outputs are the fields of these names, then the batch info. With prefetch it is an actor of its
/// own, whose outputs hold that many batches; without prefetch the fused grain contracts it with the replica. Data in
/// shards: process p has shard p, and all processes have the same number of replicas. Throws Error if there is no such
/// field, or if the replicas do not fit the shards.
ActorId add_loader(Plan& plan, const std::string& source, const Dataset& data, std::span<const std::string> fields,
                   std::uint64_t seed, int replicas, int replica, const Place& place);

/// Adds the loader of one replica whose outputs are the indices of the samples, int32[B], then the batch info.
/// Otherwise like add_loader().
ActorId add_index_loader(Plan& plan, const std::string& source, const Dataset& data, std::uint64_t seed, int replicas,
                         int replica, const Place& place);

/// Adds the loader of a worker, which gets the indices of its samples, int32[B]. Its outputs are the fields.
ActorId add_gatherer(Plan& plan, const std::string& source, const Dataset& data, std::span<const std::string> fields,
                     const OutputRef& indices, int worker, const Place& place);

/// Whether these fields of a data set are kept on a device; see Dataset::keep_on_devices().
bool kept_on(Device device, const Dataset& data, std::span<const std::string> fields);

/// Adds a loader on a device that keeps the fields of a data set. It gathers batches by the indices of their samples,
/// int32[B]. Its outputs are the fields. In the fused grain it is a part of the replica's segment.
ActorId add_row_loader(Plan& plan, const std::string& source, const Dataset& data, std::span<const std::string> fields,
                       const OutputRef& indices, int replica, const Place& place);

/// Adds the actor that gives one replica its part of every batch that the actor `source` makes. `fields` are outputs of
/// that actor, [rows, ...] with the same number of rows. The outputs are this replica's rows of the fields, then the
/// batch info.
ActorId add_feeder(Plan& plan, ActorId source, const std::vector<std::int32_t>& fields, std::int64_t most_rows,
                   int replicas, int replica, const Place& place);

/// The info of a loader's output of indices.
inline TensorInfo sample_indices_info() {
  return {Shape{kBatch}, DType::int32};
}

/// The number of samples that a process has.
std::int64_t rows_in(const Dataset& data, int process);

/// A loader whose outputs are these fields. The attribute `fields` of its task has their indices.
PlanActor loader_of(const std::string& kind, const std::string& source, const Dataset& data,
                    std::span<const std::string> fields, int replica, const Place& place);

/// The fields of the data set that an actor of a plan loads, by the attribute `fields` of its task. Throws Error if the
/// data set has other fields than the plan was made for.
std::vector<std::size_t> fields_of(const PlanActor& actor, const Dataset& data);

std::unique_ptr<Task> make_loader_task(const PlanActor& actor, SpawnContext& context);
/// The spawn context's DeviceArrays hold the fields while the task lives. Throws Error that names the remedy if the
/// device has no room for them.
std::unique_ptr<Task> make_row_loader_task(const PlanActor& actor, SpawnContext& context);

}  // namespace troupe
