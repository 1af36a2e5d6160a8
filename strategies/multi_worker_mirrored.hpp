#pragma once

#include <memory>

#include "troupe/strategies/mirrored.hpp"

namespace troupe {

class Cluster;
class Communicator;

/// A Mirrored strategy whose replicas are spread over the processes of a cluster. Each process has the same number n of
/// replicas: rank p has the replicas p n to p n + n - 1. The results equal, bit for bit, those of Mirrored with all
/// replicas in one process.
class MultiWorkerMirrored final : public Mirrored {
 public:
  /// Replica i of this process runs on `devices[i]`. Other processes may have other devices, such as each its own GPU.
  /// CPU devices are counted over the processes of a machine: with n per process, cpu:0 of the second process is cpu:n
  /// of the machine. All processes must construct the strategy: the constructor waits until it has the devices of every
  /// process. Throws Error if the processes have different numbers of devices, or if an exchange with the other
  /// processes takes longer than 60 s.
  MultiWorkerMirrored(Cluster& cluster, const std::vector<Device>& devices, MirroredOptions options = {});

 private:
  MultiWorkerMirrored(std::shared_ptr<Communicator> processes, const Cluster& cluster,
                      const std::vector<Device>& devices, MirroredOptions options);

  std::shared_ptr<Communicator> processes_;  // kept alive: other processes may still read from it
};

}  // namespace troupe
