#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/task/task.hpp"
#include "troupe/ops/data/dataset.hpp"

// Actors that load the data of one replica, or of one worker: a replica to which the actor of add_dispatcher() assigns
// samples. A string `source` is the name of the data set in SpawnContext::sources, where spawning the plan looks it up.
// The data set of that name must have the rows, batches, shards and fields of `data`. A segment is a group of actors
// that fire together on one thread.

namespace troupe {

/// Adds the loader of one replica to a plan. In a run it loads the replica's part of every batch of the epoch, from the
/// run's first batch on. Its outputs are the fields that `fields` names, in this order, then the batch info (see
/// BatchInfo). If the data set prefetches batches, the loader is a segment of its own, with an output slot for each
/// batch to prefetch. Otherwise the grain `fused` makes the loader a part of the replica's segment. If the data is
/// sharded, process p loads shard p, and all processes must have the same number of replicas. Throws Error if there is
/// no such field, or if the replicas do not fit the shards.
ActorId add_loader(Plan& plan, const std::string& source, const Dataset& data, std::span<const std::string> fields,
                   std::uint64_t seed, int replicas, int replica, const Place& place);

/// Like add_loader(), but the outputs of the loader are the indices of the samples, int32[B], then the batch info.
ActorId add_index_loader(Plan& plan, const std::string& source, const Dataset& data, std::uint64_t seed, int replicas,
                         int replica, const Place& place);

/// Adds the loader of a worker. The loader gathers the samples on the host by their indices, int32[B], which it
/// receives from `indices`. Its outputs are the fields that `fields` names. If the data set prefetches batches, the
/// loader is a segment of its own.
ActorId add_gatherer(Plan& plan, const std::string& source, const Dataset& data, std::span<const std::string> fields,
                     const OutputRef& indices, int worker, const Place& place);

/// Whether loaders keep these fields of a data set in the memory of `device`. False if the device is a CPU, if there
/// are no fields, if a function writes one of the fields, or if the fields take more bytes than the limit of
/// Dataset::keep_on_devices() allows; of sharded data, the largest shard counts.
bool kept_on(Device device, const Dataset& data, std::span<const std::string> fields);

/// Adds the loader of one replica on a device for which kept_on() is true. The loader gathers batches on the device by
/// the indices of their samples, int32[B], which it receives from `indices`. Its outputs are the fields that `fields`
/// names. In the grain `fused` the loader is a part of the replica's segment.
ActorId add_row_loader(Plan& plan, const std::string& source, const Dataset& data, std::span<const std::string> fields,
                       const OutputRef& indices, int replica, const Place& place);

/// Adds the feeder of one replica: an actor that passes on the replica's part of every batch that the actor `source`
/// makes. `fields` are the numbers of the outputs of `source` that the feeder reads. In each step these outputs must
/// have the same number of rows, from 1 to `most_rows`, or the step fails. The outputs of the feeder are the replica's
/// rows of the fields, then the batch info. Throws Error if `fields` is empty.
ActorId add_feeder(Plan& plan, ActorId source, const std::vector<std::int32_t>& fields, std::int64_t most_rows,
                   int replicas, int replica, const Place& place);

/// The shape and dtype of the indices of samples: int32[B].
inline TensorInfo sample_indices_info() {
  return {Shape{kBatch}, DType::int32};
}

/// The number of samples that a process has: those of its shard, or all samples if the data is not sharded.
std::int64_t rows_in(const Dataset& data, int process);

/// Makes a plan actor whose task has the kind `kind`. The outputs of the actor are the fields that `fields` names; the
/// attribute `fields` of the task has the indices of these fields in the data set.
PlanActor loader_of(const std::string& kind, const std::string& source, const Dataset& data,
                    std::span<const std::string> fields, int replica, const Place& place);

/// The indices of the fields that an actor of a plan loads, from the attribute `fields` of its task. Throws Error if
/// the data set has other fields than the plan was made for.
std::vector<std::size_t> fields_of(const PlanActor& actor, const Dataset& data);

std::unique_ptr<Task> make_loader_task(const PlanActor& actor, SpawnContext& context);
/// Makes the task of add_row_loader(). SpawnContext::device_arrays keeps the fields on the device while the task lives.
/// Throws Error if the device has no room for the fields, with a text that says how to leave them on the host, or if a
/// function writes one of the fields.
std::unique_ptr<Task> make_row_loader_task(const PlanActor& actor, SpawnContext& context);

}  // namespace troupe
