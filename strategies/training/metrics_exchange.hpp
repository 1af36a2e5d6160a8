#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "troupe/strategies/training/metrics.hpp"
#include "troupe/transport/cluster/cluster.hpp"
#include "troupe/transport/link_reader.hpp"

namespace troupe {

/// What a replica saw of a step.
struct ReplicaReport {
  int replica = 0;
  StepMetrics metrics;
};

/// Brings what the replicas of all processes report to the first process, and what it makes of them to all. One thread.
class MetricsExchange {
 public:
  /// `generation` is that of the plan; all processes make one for it.
  MetricsExchange(Cluster& cluster, std::uint64_t generation);

  bool is_first() const { return rank_ == 0; }
  void send(std::span<const ReplicaReport> reports);
  /// What has come; waits for something from the first peer, for `limit` at most. Throws Error if it should wait, but a
  /// process has gone.
  std::vector<ReplicaReport> receive(std::chrono::milliseconds limit);

 private:
  void expect_all() const;

  int rank_;
  std::map<int, std::unique_ptr<LinkReader>> peers_;
};

}  // namespace troupe
