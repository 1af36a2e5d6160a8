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
#include "troupe/transport/device_communicator.hpp"

namespace troupe {

struct BegunCollective;
struct BegunDeviceCollective;
class Recording;
class ShardLog;

/// What the names in a plan stand for in one spawning of it. The same plan can be spawned with another context.
class SpawnContext {
 public:
  /// Parameters and optimizer state. Made anew, with seed 0, if none is given.
  std::shared_ptr<ParameterStore> store;
  std::map<std::string, Dataset> sources;
  /// What of the sources is kept on devices; plans that are to share it are given the same ones.
  std::shared_ptr<DeviceArrays> device_arrays = std::make_shared<DeviceArrays>();
  /// By rank; those of other processes are null. A communicator that is missing is made, for the ranks of one process.
  std::map<std::string, std::vector<std::shared_ptr<Communicator>>> communicators;
  /// Those of communicators whose tensors stay on devices. One that is missing is made, for the ranks of one process.
  std::map<std::string, std::shared_ptr<DeviceCommunicator>> device_communicators;
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
  const std::shared_ptr<Communicator>& communicator(const std::string& name, std::int64_t rank) const;
  const std::shared_ptr<DeviceCommunicator>& device_communicator(const std::string& name) const;

  /// The state that the conductor and a rank's actor share for one collective.
  const std::shared_ptr<BegunCollective>& begun(const std::string& communicator, std::int64_t index, std::int64_t rank);
  /// As above, on devices.
  const std::shared_ptr<BegunDeviceCollective>& begun_on_device(const std::string& communicator, std::int64_t index,
                                                                std::int64_t rank);

 private:
  using Key = std::tuple<std::string, std::int64_t, std::int64_t>;

  std::map<Key, std::shared_ptr<BegunCollective>> begun_;
  std::map<Key, std::shared_ptr<BegunDeviceCollective>> begun_on_device_;
};

}  // namespace troupe
