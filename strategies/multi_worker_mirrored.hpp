#pragma once

#include "troupe/strategies/mirrored.hpp"

namespace troupe {

class Cluster;

/// Mirrored over the processes of a cluster: every process has the same number of replicas, and the plan, its bits and
/// its results are those of Mirrored with all of them in one process. Rank p has replicas p * n to p * n + n - 1.
class MultiWorkerMirrored final : public Mirrored {
 public:
  /// Replica i of a process runs on `devices[i]`. CPU devices are counted over the processes of a machine: cpu:0 of its
  /// second process, if each has n, is cpu:n of the machine.
  MultiWorkerMirrored(const Cluster& cluster, const std::vector<Device>& devices, MirroredOptions options = {});
};

}  // namespace troupe
