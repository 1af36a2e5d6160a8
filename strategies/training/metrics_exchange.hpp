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

/// Sends the reports of the replicas of all processes to rank 0. Rank 0 combines the reports of each step, and sends
/// the steps to all other processes that are not expendable. Used on one thread.
class MetricsExchange {
 public:
  /// `generation` is the generation of the plan; see SpawnedPlan::generation(). All processes must construct an
  /// exchange with the same generation.
  MetricsExchange(Cluster& cluster, std::uint64_t generation);

  bool is_rank_zero() const { return cluster_.rank() == 0; }
  /// Begins a run: no process has sent its end yet. Makes new links to expendable processes that have returned.
  void begin();
  void send(std::span<const ReplicaReport> reports);
  /// Sends the end of the run: this process reports nothing more in it. `staleness` must cover all runs so far: of the
  /// shards in this process, or, on rank 0, of all shards.
  void send_end(const Staleness& staleness);
  /// Returns the reports that have arrived. If there are none, waits up to `limit` for the peer of the lowest rank.
  /// Throws Error if none has arrived, `limit` is not 0, and a process is lost.
  std::vector<ReplicaReport> receive(std::chrono::milliseconds limit);
  /// Whether all peers have sent the end of the run, except for the `absent` ones and for expendable ones whose links
  /// have failed.
  bool all_ended(std::span<const int> absent) const;
  /// Returns the sum of the staleness that the peers have sent. Rank 0 sends the staleness of all processes, so in
  /// another process this is the total.
  Staleness staleness() const;

 private:
  /// Another process: on rank 0 any other, elsewhere rank 0 alone.
  struct Peer {
    std::unique_ptr<LinkReader> reader;
    bool expendable = false;
    int returns = 0;  // Cluster::returns() of the peer when the link was made
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
