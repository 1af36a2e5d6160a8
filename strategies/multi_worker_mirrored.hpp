#pragma once

#include <memory>

#include "troupe/strategies/mirrored.hpp"

namespace troupe {

class Cluster;
class Communicator;

/// Mirrored over the processes of a cluster: every process has the same number of replicas, and the plan, its bits and
/// its results are those of Mirrored with all of them in one process. Rank p has replicas p * n to p * n + n - 1.
class MultiWorkerMirrored final : public Mirrored {
 public:
  /// Replica i of this process runs on `devices[i]`; the others may have other devices, such as each its own GPU. CPU
  /// devices are counted over the processes of a machine: cpu:0 of its second process, if each has n, is cpu:n of the
  /// machine. All processes make the strategy, and wait for each other to tell their devices. Throws Error if they do
  /// not have as many.
  MultiWorkerMirrored(Cluster& cluster, const std::vector<Device>& devices, MirroredOptions options = {});

 private:
  MultiWorkerMirrored(std::shared_ptr<Communicator> processes, const Cluster& cluster,
                      const std::vector<Device>& devices, MirroredOptions options);

  std::shared_ptr<Communicator> processes_;  // kept: the others may still read from it
};

}  // namespace troupe
