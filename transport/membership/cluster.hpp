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

/// See membership.hpp for the states of a rank: expected, present, leaving, left, lost, gone, returned.
struct ClusterOptions {
  Job job;
  /// Values that must be equal in all processes; see difference().
  Agreement agreement = {};
  /// The address at which this process listens: empty for loopback alone, `any`, or one address of this machine. Data
  /// is neither encrypted nor authenticated: listen only in networks that you trust.
  std::string bind = {};
  /// How long the ranks wait for each other, at the start and wherever all ranks must come.
  std::chrono::milliseconds limit{60'000};
  std::chrono::milliseconds heartbeat_interval{250};
  /// The longest silence of a process that is not lost; see MembershipOptions::limit.
  std::chrono::milliseconds heartbeat_limit{2'500};
  /// If false, processes of one machine use the network as if they were on several.
  bool same_host = true;
  /// Called, on any thread, with one line about each stranger, loss and return.
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
  /// A name that is equal for ranks on the same machine.
  virtual std::string machine(int rank) const = 0;
  /// The number of lower ranks on the machine of a rank.
  virtual int local_rank(int rank) const = 0;

  /// A link for data to another rank. Each end makes it once, under the same name.
  virtual std::shared_ptr<Link> data_link(int rank, const std::string& name) = 0;
  /// A link for control messages, which data does not delay, between rank 0 and another rank.
  virtual std::shared_ptr<Link> control_link(int rank, const std::string& name) = 0;
  /// Makes a group in which rank r is in process `processes[r]`. Returns the ranks of this process at their index, and
  /// null at all others. All processes that have ranks of the group call it with the same arguments.
  virtual std::vector<std::shared_ptr<Communicator>> communicator(
      const std::string& name, const std::vector<int>& processes,
      AllReduceAlgorithm all_reduce = AllReduceAlgorithm::direct) = 0;
  /// Returns when all ranks have called it with the same `hash`. Otherwise throws Error at all of them that names the
  /// first line in which their `text` differs. The n-th call of each rank is compared with the n-th of the others.
  virtual void agree(const std::string& topic, std::uint64_t hash, const std::function<std::string()>& text) = 0;
  /// The number of the next plan, from 1. All processes spawn the same plans in the same order.
  virtual std::uint64_t next_generation() = 0;

  /// The failure of the first rank that is lost, or null. A rank that is gone is not lost.
  virtual FailurePtr lost() const = 0;
  /// Whether an expendable rank is gone. Its links have failed or fail within moments.
  virtual bool gone(int rank) const = 0;
  /// Makes exactly these ranks expendable from now on: the others go on without them, and agree() does not wait for
  /// them. A process may join again with the rank of one that is gone. All processes call it with the same ranks.
  /// Throws Error if rank 0 is among them.
  virtual void set_expendable(std::set<int> ranks) = 0;
  virtual std::set<int> expendable() const = 0;
  /// Calls back, on any thread, when an expendable rank has returned, before the returned process goes on. Ends when
  /// the handle is destroyed.
  using OnReturned = std::function<void(int rank)>;
  [[nodiscard]] virtual std::shared_ptr<const OnReturned> on_returned(OnReturned callback) = 0;
  /// How many times a rank has returned.
  virtual int returns(int rank) const = 0;
  /// At rank 0: sends bytes to the expendable ranks. A rank that has returned gets the last announcement.
  virtual void announce(std::vector<std::byte> bytes) = 0;
  /// At an expendable rank: waits for the next announcement of rank 0. Returns nothing if none arrives within the
  /// limit. Throws Error if rank 0 has ended. Called by one thread.
  virtual std::optional<std::vector<std::byte>> hear(std::chrono::milliseconds limit) = 0;
  /// Calls back, on any thread, when a rank is lost; at once if one is lost already. Ends when the handle is destroyed.
  using OnLost = std::function<void(const FailurePtr&)>;
  [[nodiscard]] virtual std::shared_ptr<const OnLost> on_lost(OnLost callback) = 0;
  /// Ends the job: waits until every rank has called it or is gone. Throws Error that names a rank that is lost or does
  /// not come. If the cluster is destroyed without it, the others lose this process.
  virtual void leave() = 0;
};

/// Connects to the other processes of the job. Throws Error if they differ or do not come within the limit.
std::shared_ptr<Cluster> join_cluster(ClusterOptions options);

}  // namespace troupe
