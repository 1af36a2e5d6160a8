#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/actors/store/device_arrays.hpp"
#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/ops/data/dataset.hpp"
#include "troupe/transport/communicator.hpp"

namespace troupe {

class Recording;
class ShardLog;

/// The objects that the names in a plan stand for when the plan is spawned. The same plan can be spawned with another
/// context.
class SpawnContext {
 public:
  /// Parameters and optimizer state. If null, spawning makes a new store with seed 0.
  std::shared_ptr<ParameterStore> store;
  std::map<std::string, Dataset> sources;
  /// Copies of the arrays of `sources` in the memory of devices. Plans that are spawned with the same object share the
  /// copies.
  std::shared_ptr<DeviceArrays> device_arrays = std::make_shared<DeviceArrays>();
  /// By name: the ends of a communicator in this process, which together have all ranks that the communicator has in
  /// the process. There is one end for each rank on the host, and one end for all ranks whose tensors stay on devices.
  /// Null ends, which stand for ranks of other processes, are ignored. Spawning makes the communicators of the plan
  /// that are missing here.
  std::map<std::string, std::vector<std::shared_ptr<Communicator>>> communicators;
  /// Functions that make tasks, by PlanTask::kind. They take precedence over the functions that register_task() has
  /// registered.
  std::map<std::string, TaskFactory> tasks;
  /// If set, the shards (actors that hold and update parts of the parameters) count in the log the gradients that they
  /// apply or drop, by staleness, and the dispatcher (the actor that assigns batches to workers) notes the step at
  /// which its run ended.
  std::shared_ptr<ShardLog> shard_log;
  /// Shards and dispatchers make decisions that depend on the order of messages. They write these decisions to `record`
  /// if it is set, and repeat the decisions in `replay` if it is set.
  std::shared_ptr<Recording> record;
  std::shared_ptr<const Recording> replay;

  /// Whether all replicas have equal copies of each parameter. If it is true, a run does not begin with copies of
  /// different versions. If it is false, the copies that a run writes have different versions afterwards. If it is not
  /// set, neither holds.
  std::optional<bool> equal_copies = {};

  /// The rank of this process, which failures name; -1 if the plan has one part. SpawnedPlan sets it.
  int process = -1;

  /// These functions throw Error if the context has no object of that name.
  const Dataset& source(const std::string& name) const;
  const std::vector<std::shared_ptr<Communicator>>& ends_of(const std::string& communicator) const;
};

}  // namespace troupe
