#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/shard/consistency_rule.hpp"
#include "troupe/strategies/training/metrics.hpp"
#include "troupe/transport/bytes.hpp"
#include "troupe/transport/link_reader.hpp"
#include "troupe/transport/membership/cluster.hpp"

namespace troupe {

/// The metrics that one replica reports for one step: those of its part of the batch, or of the whole batch if replicas
/// do not share steps. A report that rank 0 sends has a whole step, and `replica` is 0.
struct ReplicaReport {
  int replica = 0;
  StepMetrics metrics;
};

/// Exchanges the metrics of a training between processes for a MetricsLog. Every process sends the reports of its
/// replicas to rank 0. Rank 0, whose MetricsLog combines the reports of each step, sends the whole steps to all other
/// processes except expendable ones, without which a job continues. Must be used on one thread.
class MetricsExchange {
 public:
  /// `generation` is SpawnedPlan::generation(), a number that identifies the spawned plan in its job. All processes
  /// must construct an exchange with the same number.
  MetricsExchange(Cluster& cluster, std::uint64_t generation);

  bool is_rank_zero() const { return cluster_.rank() == 0; }
  /// Begins a run of the plan, in which no process has sent the end yet. Makes new links to expendable processes that
  /// were lost and have returned.
  void begin();
  void send(std::span<const ReplicaReport> reports);
  /// Sends the end of the run: this process reports nothing more in the run. `staleness` must be the sum over all runs
  /// so far; on rank 0 it must cover the parameter shards of all processes, elsewhere those of this process.
  void send_end(const Staleness& staleness);
  /// Returns the reports that have arrived. If there are none, waits up to `limit` for reports of the peer with the
  /// lowest rank, unless this peer has ended the run. Throws Error if no report has arrived, `limit` is not 0, and a
  /// process is lost.
  std::vector<ReplicaReport> receive(std::chrono::milliseconds limit);
  /// Returns true if all peers have sent the end of the run. Does not count the processes in `absent`, nor expendable
  /// processes whose links have failed.
  bool all_ended(std::span<const int> absent) const;
  /// A text that names the processes, except those in `absent`, that have not ended the run.
  std::string missing(std::span<const int> absent) const;
  /// Returns the sum of the staleness that the peers have sent. Rank 0 sends the staleness of all processes, so in
  /// another process this is the total.
  Staleness staleness() const;

 private:
  /// A process with which this one exchanges metrics. On rank 0 the peers are all other processes; elsewhere rank 0 is
  /// the only peer.
  struct Peer {
    std::unique_ptr<LinkReader> reader;
    bool expendable = false;
    int returns = 0;  // Cluster::returns() of the peer when the link was made
    bool ended = false;
    Staleness staleness = {};
  };

  void add_peer(int number);
  static bool has_ended(int number, const Peer& peer, std::span<const int> absent);
  void send_to_all(const ByteWriter& bytes, std::int32_t content);
  void take(Peer& peer, const IncomingFrame& frame, std::vector<ReplicaReport>& reports) const;
  void expect_no_loss();

  Cluster& cluster_;
  const std::string link_name_;
  std::map<int, Peer> peers_;
  std::optional<std::chrono::steady_clock::time_point> link_failed_;
};

}  // namespace troupe
