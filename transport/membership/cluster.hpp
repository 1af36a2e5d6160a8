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
#include "troupe/transport/membership/busy_ranks.hpp"
#include "troupe/transport/membership/rendezvous.hpp"

namespace troupe {

/// The options of join_cluster().
struct ClusterOptions {
  Job job;
  /// Pairs of a name and a value that must be equal in all processes. join_cluster() throws Error that names the first
  /// pair that differs.
  Agreement agreement = {};
  /// The address at which this process listens: empty for loopback alone, `any`, or one IPv4 address of this machine.
  /// Control messages are encrypted, data is not. A process needs the secret to join the job, and a token that it
  /// received there to connect to the data sockets.
  std::string bind = {};
  /// The file with the secret of the job, which other users must not be able to read; if empty, the variable
  /// TROUPE_SECRET has the secret. If neither is given, rank 0 makes a secret and leaves it in a private folder of the
  /// user on this machine, where the other ranks find it; then all ranks must be on one machine and listen at loopback.
  std::string secret_file = {};
  /// How long the ranks wait for each other: in join_cluster(), agree() and leave().
  std::chrono::milliseconds limit{60'000};
  std::chrono::milliseconds heartbeat_interval{250};
  /// A process is lost when no heartbeat from it has arrived for longer than this. The first heartbeat from another
  /// machine may take 4 s longer.
  std::chrono::milliseconds heartbeat_limit{2'500};
  /// If false, processes of one machine exchange data over TCP only, like processes on different machines.
  bool same_host = true;
  /// If false, processes of one machine do not read large tensors directly in each other's memory. Otherwise a process
  /// exempts itself from the kernel's restriction of such reads to ancestors (Yama's ptrace scope 1), for all processes
  /// of its user.
  bool read_in_place = true;
  /// Called, on any thread, with one line about each expendable rank that is lost, and each rank that returns or is
  /// refused; and with at most one line a second about processes that connect but do not belong to the job.
  std::function<void(const std::string& line)> on_notice = {};
};

/// The connected processes of a job, each with a rank. A rank is lost when its process dies, falls silent or is cut
/// off; this ends the job. If the rank is expendable, it is gone instead: the job goes on without it until another
/// process joins with its rank, by which the rank returns. Thread-safe.
class Cluster {
 public:
  virtual ~Cluster() = default;

  virtual const Job& job() const = 0;
  int rank() const { return job().rank; }
  int size() const { return job().world_size; }
  virtual ProcessRole role(int rank) const = 0;
  /// Returns a name that is equal for ranks on the same machine.
  virtual std::string machine(int rank) const = 0;
  /// Returns the number of ranks below `rank` on the same machine.
  virtual int local_rank(int rank) const = 0;

  /// Makes this process's end of a link for data to another rank. Each end makes the link once, under the same name.
  virtual std::shared_ptr<Link> data_link(int rank, const std::string& name) = 0;
  /// Makes this process's end of a link between rank 0 and another rank for control messages, which data does not
  /// delay.
  virtual std::shared_ptr<Link> control_link(int rank, const std::string& name) = 0;
  /// Makes a group in which rank r is in process `processes[r]`. Element r of the result is the communicator of rank r
  /// if the rank is in this process, else null. All processes that have ranks of the group must call it with the same
  /// arguments. The loss of a process of the job aborts the communicator, so that no wait for it goes on. Throws Error
  /// for the algorithm `nccl`, whose tensors lie on devices.
  virtual std::vector<std::shared_ptr<Communicator>> communicator(
      const std::string& name, const std::vector<int>& processes,
      AllReduceAlgorithm all_reduce = AllReduceAlgorithm::direct) = 0;
  /// Blocks until all ranks have called agree() with the same topic and hash; ranks that are expendable may be missing.
  /// The n-th call of a rank is compared with the n-th call of the others. `text` returns the text whose hash is
  /// `hash`. If ranks differ, throws Error on all of them, with both topics or with the first line in which the texts
  /// differ. Also throws Error if a rank is lost or does not come within ClusterOptions::limit; then it names the
  /// busiest() process, too.
  virtual void agree(const std::string& topic, std::uint64_t hash, const std::function<std::string()>& text) = 0;
  /// Returns the next number for a plan or a group of ranks: 1 at the first call, and one more at every further call.
  /// All processes must call it for the same plans and groups in the same order, so that each gets the same number
  /// everywhere.
  virtual std::uint64_t next_generation() = 0;

  /// The processes that are busy with one thing, such as a callback of the program.
  virtual BusyRanks& busy() = 0;
  /// Returns a text such as `process 1 (127.0.0.1, pid 7) has been in a callback of its program for 61 s`, about the
  /// process that has been busy with one thing for longest, if that is longer than `limit`; else an empty text.
  virtual std::string busiest(std::chrono::milliseconds limit) const = 0;

  /// Returns the failure of the first rank that is lost, or null. A rank that is gone is not lost.
  virtual FailurePtr lost() const = 0;
  /// Whether an expendable rank is gone. Links to it have failed, or fail within moments.
  virtual bool gone(int rank) const = 0;
  /// Makes exactly these ranks expendable from now on: if one is lost, the others go on without it. agree() does not
  /// wait for expendable ranks. All processes must call it with the same ranks. Throws Error if rank 0 is among them.
  virtual void set_expendable(std::set<int> ranks) = 0;
  virtual std::set<int> expendable() const = 0;
  /// Adds a callback that is called, on any thread, each time another process has returned with the rank of one that
  /// was gone, before join_cluster() returns in the returned process. Destroying the handle removes the callback.
  using OnReturned = std::function<void(int rank)>;
  [[nodiscard]] virtual std::shared_ptr<const OnReturned> on_returned(OnReturned callback) = 0;
  /// Returns how often, since this process joined, another process has returned with rank `rank`.
  virtual int returns(int rank) const = 0;
  /// At rank 0: sends bytes, an announcement, to the expendable ranks. A process that returns later receives the last
  /// one.
  virtual void announce(std::vector<std::byte> bytes) = 0;
  /// At an expendable rank: blocks until the next announcement of rank 0 arrives. Returns nothing if none arrives
  /// within the limit. Throws Error if rank 0 has ended or a rank is lost. Only one thread may call it.
  virtual std::optional<std::vector<std::byte>> hear(std::chrono::milliseconds limit) = 0;
  /// Adds a callback that is called once, on any thread, when a rank is lost; at once if one is lost already.
  /// Destroying the handle removes the callback.
  using OnLost = std::function<void(const FailurePtr&)>;
  [[nodiscard]] virtual std::shared_ptr<const OnLost> on_lost(OnLost callback) = 0;
  /// Ends the job: blocks until every rank has called leave() or is gone. Throws Error that names a rank that is lost
  /// or, after ClusterOptions::limit, the ranks that have not called leave(); a rank other than 0 names rank 0 in this
  /// case, and the busiest() process. If this object is destroyed without leave(), the other ranks lose this process.
  virtual void leave() = 0;
};

/// Calls `wait`, which waits for other processes for at most `limit`. Meanwhile the calling thread counts as busy with
/// nothing, even if a callback of the program makes the call. If `wait` throws TimedOut and Cluster::busiest(limit / 2)
/// names a process, throws Error with both texts.
void await_others(Cluster& cluster, std::chrono::milliseconds limit, const std::function<void()>& wait);

/// Connects to the other processes of the job. Throws Error if the processes differ in a value that must be equal, if
/// not all of them come within the limit or can be reached, if rank 0 refuses this process, if an address cannot be
/// bound, if a secret is needed and missing, or if too few file descriptors are left.
std::shared_ptr<Cluster> join_cluster(ClusterOptions options);

}  // namespace troupe
