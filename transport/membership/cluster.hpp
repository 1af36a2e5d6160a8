#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "troupe/transport/all_reduce_algorithm.hpp"
#include "troupe/transport/communicator.hpp"
#include "troupe/transport/job/job.hpp"
#include "troupe/transport/link.hpp"
#include "troupe/transport/membership/rendezvous.hpp"

namespace troupe {

struct ClusterOptions {
  Job job;
  /// What must be the same in all processes; see difference().
  Agreement agreement = {};
  /// The address at which this process listens: empty for loopback alone, `any`, or one address of this machine. What
  /// travels is neither encrypted nor authorised: allow it in networks that you trust.
  std::string bind = {};
  /// How long the ranks wait for each other at the start, and wherever all have to come.
  std::chrono::milliseconds limit{60'000};
  std::chrono::milliseconds heartbeat_interval{250};
  /// A process without a sign of life for this time is lost, and with it the run; see MembershipOptions::limit.
  std::chrono::milliseconds heartbeat_limit{2'500};
  /// Off: processes of one machine use the network, as if they were on several.
  bool same_host = true;
  /// Told, on any thread, of strangers and the like: one line.
  std::function<void(const std::string& line)> on_notice = {};
};

/// The processes of a job, connected. Thread-safe.
class Cluster {
 public:
  virtual ~Cluster() = default;

  virtual const Job& job() const = 0;
  int rank() const { return job().rank; }
  int size() const { return job().world_size; }
  virtual ProcessRole role(int rank) const = 0;
  /// The same for ranks on the same machine.
  virtual std::string machine(int rank) const = 0;
  /// How many lower ranks share the machine of a rank.
  virtual int local_rank(int rank) const = 0;

  /// A link for data to another rank; both ends use the same name, once.
  virtual std::shared_ptr<Link> data_link(int rank, const std::string& name) = 0;
  /// A link on the connection for control, which no data delays: between rank 0 and another.
  virtual std::shared_ptr<Link> control_link(int rank, const std::string& name) = 0;
  /// Rank r of a group whose ranks live in `processes[r]`, of which this process has some: by rank, null for those of
  /// others.
  virtual std::vector<std::shared_ptr<Communicator>> communicator(
      const std::string& name, const std::vector<int>& processes,
      AllReduceAlgorithm all_reduce = AllReduceAlgorithm::direct) = 0;
  /// The ranks compare what they are about to do: returns when all have come with the same `hash`. Else throws Error on
  /// all of them that names the first line in which their `text` differs. Calls are counted: the n-th meets the n-th.
  virtual void agree(const std::string& topic, std::uint64_t hash, const std::function<std::string()>& text) = 0;
  /// Numbers the plans that all processes spawn one after the other, from 1.
  virtual std::uint64_t next_generation() = 0;

  /// The rank that is lost, if one is, and why. Those that are expendable do not count.
  virtual FailurePtr lost() const = 0;
  /// Whether an expendable rank is gone: its links have failed, or do so in a moment.
  virtual bool gone(int rank) const = 0;
  /// From now on the others go on without these ranks, which may come back: a process that joins again with the rank of
  /// one that is gone. They take no part in agree(). All processes say the same. Throws Error if rank 0 is among them.
  virtual void set_expendable(std::set<int> ranks) = 0;
  virtual std::set<int> expendable() const = 0;
  /// Calls back, on any thread, when one of these has come back, and before it goes on. As long as the handle lives.
  using OnReturned = std::function<void(int rank)>;
  [[nodiscard]] virtual std::shared_ptr<const OnReturned> on_returned(OnReturned callback) = 0;
  /// How often a rank has come back.
  virtual int returns(int rank) const = 0;
  /// Rank 0 tells the expendable ranks something; one that comes back hears the last.
  virtual void announce(std::vector<std::byte> bytes) = 0;
  /// At these: the next that rank 0 announces; nothing if it does not come within the limit. Throws Error if rank 0 is
  /// gone. One thread.
  virtual std::optional<std::vector<std::byte>> hear(std::chrono::milliseconds limit) = 0;
  /// Calls back when a rank is lost, on any thread; at once if that has happened. As long as the returned handle lives.
  using OnLost = std::function<void(const FailurePtr&)>;
  [[nodiscard]] virtual std::shared_ptr<const OnLost> on_lost(OnLost callback) = 0;
  /// The end of the job: waits until every rank has come to it. Throws Error that names a rank that is lost or does not
  /// come. Without it, the others see this process die when the cluster is destroyed.
  virtual void leave() = 0;
};

/// Meets the other processes. Throws Error if they differ, or do not come within the limit.
std::shared_ptr<Cluster> join_cluster(ClusterOptions options);

}  // namespace troupe
