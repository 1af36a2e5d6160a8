#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/task/task.hpp"
#include "troupe/ops/data/dataset.hpp"

// Actors that load the data of one replica or worker. `source` is the name of the data set in the spawn context. That
// data set must have the rows, batches, shards and fields of `data`.

namespace troupe {

/// Adds the loader of one replica to a plan. In a run it loads the replica's part of every batch of the epoch, from the
/// run's first batch on. Its outputs are the fields that `fields` names, in this order, then the batch info (see
/// BatchInfo). If the data set prefetches batches, the loader is a segment of its own, with an output slot for each of
/// these batches. Otherwise the fused grain makes it a part of the replica's segment. If the data is sharded, process p
/// loads shard p, and all processes must have the same number of replicas. Throws Error if there is no such field, or
/// if the replicas do not fit the shards.
ActorId add_loader(Plan& plan, const std::string& source, const Dataset& data, std::span<const std::string> fields,
                   std::uint64_t seed, int replicas, int replica, const Place& place);

/// Like add_loader(), but the loader has the indices of the samples, int32[B], as its output in place of the fields.
/// The batch info follows.
ActorId add_index_loader(Plan& plan, const std::string& source, const Dataset& data, std::uint64_t seed, int replicas,
                         int replica, const Place& place);

/// Adds the loader of a worker, which gathers the samples on the host. Its input `indices` has the indices of the
/// samples, int32[B]. Its outputs are the fields that `fields` names.
ActorId add_gatherer(Plan& plan, const std::string& source, const Dataset& data, std::span<const std::string> fields,
                     const OutputRef& indices, int worker, const Place& place);

/// Whether these fields of a data set are kept in the memory of a device. False for CPU devices, without fields, if a
/// function writes one of the fields, or if all their rows exceed the limit of Dataset::keep_on_devices().
bool kept_on(Device device, const Dataset& data, std::span<const std::string> fields);

/// Adds the loader of one replica on a device for which kept_on() is true. It gathers batches on the device, by the
/// indices of their samples, int32[B], in its input `indices`. Its outputs are the fields that `fields` names. In the
/// fused grain it is a part of the replica's segment.
ActorId add_row_loader(Plan& plan, const std::string& source, const Dataset& data, std::span<const std::string> fields,
                       const OutputRef& indices, int replica, const Place& place);

/// Adds the feeder of one replica: an actor that passes on the replica's part of every batch that the actor `source`
/// makes. `fields` are the numbers of the outputs of `source` to read. In each step they must have the same number of
/// rows, from 1 to `most_rows`, or the step fails. The outputs of the feeder are the replica's rows of the fields, then
/// the batch info. Throws Error if `fields` is empty.
ActorId add_feeder(Plan& plan, ActorId source, const std::vector<std::int32_t>& fields, std::int64_t most_rows,
                   int replicas, int replica, const Place& place);

/// The shape and dtype of the indices of samples: int32[B].
inline TensorInfo sample_indices_info() {
  return {Shape{kBatch}, DType::int32};
}

/// The number of samples that a process has: those of its shard, or all samples if the data is not sharded.
std::int64_t rows_in(const Dataset& data, int process);

/// Makes a plan actor with a task of this kind. Its outputs are the fields that `fields` names; the attribute `fields`
/// of its task has the indices of the fields in the data set.
PlanActor loader_of(const std::string& kind, const std::string& source, const Dataset& data,
                    std::span<const std::string> fields, int replica, const Place& place);

/// The indices of the fields that an actor of a plan loads, from the attribute `fields` of its task. Throws Error if
/// the data set has other fields than the plan was made for.
std::vector<std::size_t> fields_of(const PlanActor& actor, const Dataset& data);

std::unique_ptr<Task> make_loader_task(const PlanActor& actor, SpawnContext& context);
/// Makes the task of add_row_loader(). SpawnContext::device_arrays keeps the fields on the device while the task lives.
/// Throws Error if the device has no room for them, with the remedy, or if a function writes one of them.
std::unique_ptr<Task> make_row_loader_task(const PlanActor& actor, SpawnContext& context);

}  // namespace troupe
