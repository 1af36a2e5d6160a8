#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "troupe/actors/shard/staleness.hpp"
#include "troupe/strategies/training/metrics.hpp"
#include "troupe/transport/bytes.hpp"
#include "troupe/transport/link_reader.hpp"
#include "troupe/transport/membership/cluster.hpp"

namespace troupe {

/// What a replica saw of a step.
struct ReplicaReport {
  int replica = 0;
  StepMetrics metrics;
};

/// Brings what the replicas of all processes report to the first process, and what it makes of them to all that are not
/// expendable. One thread.
class MetricsExchange {
 public:
  /// `generation` is that of the plan; all processes make one for it.
  MetricsExchange(Cluster& cluster, std::uint64_t generation);

  bool is_first() const { return cluster_.rank() == 0; }
  /// A run begins.
  void begin();
  void send(std::span<const ReplicaReport> reports);
  /// This process sends nothing more in this run; what its shards have done in all runs.
  void send_end(const Staleness& staleness);
  /// What has come; waits for something from the first peer, for `limit` at most. Throws Error if it should wait, but a
  /// process has gone.
  std::vector<ReplicaReport> receive(std::chrono::milliseconds limit);
  /// Whether nothing more comes in this run from any process, but those that are absent.
  bool all_ended(std::span<const int> absent) const;
  /// What the shards of the others have done.
  Staleness staleness() const;

 private:
  struct Peer {
    std::unique_ptr<LinkReader> reader;
    bool expendable = false;
    int returns = 0;  // how often it had come back when the link was made
    bool ended = false;
    Staleness staleness = {};
  };

  void add_peer(int number);
  void look_for_returned();
  void send_to_all(const ByteWriter& bytes, std::int32_t what);
  void take(Peer& peer, const IncomingFrame& frame, std::vector<ReplicaReport>& reports) const;
  void expect_all();

  Cluster& cluster_;
  const std::string link_name_;
  std::map<int, Peer> peers_;
  std::optional<std::chrono::steady_clock::time_point> gone_since_;
};

}  // namespace troupe
