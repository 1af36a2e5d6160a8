#pragma once

#include <map>
#include <memory>
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

/// The meaning of the names in a plan for one spawning of it. The same plan can be spawned with another context.
class SpawnContext {
 public:
  /// Parameters and optimizer state. Made anew, with seed 0, if none is given.
  std::shared_ptr<ParameterStore> store;
  std::map<std::string, Dataset> sources;
  /// What of the sources is kept on devices; plans that are to share it are given the same ones.
  std::shared_ptr<DeviceArrays> device_arrays = std::make_shared<DeviceArrays>();
  /// The ends of a communicator in this process, which together have all ranks of the process: one end for each rank on
  /// the host, one end for all ranks whose tensors stay on devices. Null ends, those of other processes, are left out.
  /// A communicator that is missing is made, for the ranks of one process.
  std::map<std::string, std::vector<std::shared_ptr<Communicator>>> communicators;
  /// Tasks by their kind, found before the registered ones.
  std::map<std::string, TaskFactory> tasks;
  /// If given, told what shards and dispatchers do.
  std::shared_ptr<ShardLog> shard_log;
  /// If given, shards and dispatchers write there what they do, or do what is written.
  std::shared_ptr<Recording> record;
  std::shared_ptr<const Recording> replay;

  /// The process that failures name; -1 if the plan has one part. Set by SpawnedPlan.
  int process = -1;

  /// Throw Error if the name is not known.
  const Dataset& source(const std::string& name) const;
  const std::vector<std::shared_ptr<Communicator>>& ends_of(const std::string& communicator) const;
};

}  // namespace troupe
