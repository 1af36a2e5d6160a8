#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "troupe/actors/shard/consistency_rule.hpp"
#include "troupe/strategies/training/metrics.hpp"
#include "troupe/transport/bytes.hpp"
#include "troupe/transport/link_reader.hpp"
#include "troupe/transport/membership/cluster.hpp"

namespace troupe {

/// The metrics of a replica's part of a step.
struct ReplicaReport {
  int replica = 0;
  StepMetrics metrics;
};

/// Sends the reports of the replicas of all processes to rank 0, and the steps that rank 0 makes of them to all other
/// processes that are not expendable. Used on one thread.
class MetricsExchange {
 public:
  /// `generation` is that of the plan. All processes construct an exchange for it.
  MetricsExchange(Cluster& cluster, std::uint64_t generation);

  bool is_rank_zero() const { return cluster_.rank() == 0; }
  /// A run begins.
  void begin();
  void send(std::span<const ReplicaReport> reports);
  /// Sends the end of the run: this process reports nothing more in it. `staleness` counts all runs of its shards.
  void send_end(const Staleness& staleness);
  /// Returns the reports that have arrived. If there are none, waits up to `limit` for the first peer. Throws Error if
  /// it would wait while a process is lost.
  std::vector<ReplicaReport> receive(std::chrono::milliseconds limit);
  /// Whether all processes but the absent ones have sent the end of the run.
  bool all_ended(std::span<const int> absent) const;
  /// The sum of the staleness of all other processes.
  Staleness staleness() const;

 private:
  struct Peer {
    std::unique_ptr<LinkReader> reader;
    bool expendable = false;
    int returns = 0;  // number of its returns when the link was made
    bool ended = false;
    Staleness staleness = {};
  };

  void add_peer(int number);
  void send_to_all(const ByteWriter& bytes, std::int32_t content);
  void take(Peer& peer, const IncomingFrame& frame, std::vector<ReplicaReport>& reports) const;
  void expect_no_loss();

  Cluster& cluster_;
  const std::string link_name_;
  std::map<int, Peer> peers_;
  std::optional<std::chrono::steady_clock::time_point> link_failed_;
};

}  // namespace troupe
