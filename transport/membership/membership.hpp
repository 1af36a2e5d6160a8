#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "troupe/transport/link.hpp"

namespace troupe {

struct MembershipOptions {
  int rank = 0;
  std::chrono::milliseconds interval{250};
  /// A process is lost after this time without a sign of life. The time is counted in intervals of the watching thread,
  /// so that a watching process that gets no processor in the meantime gives the others as much longer.
  std::chrono::milliseconds limit{2'500};
  /// Whether a rank is reached over a network, where the first packets may be lost: then it has longer for its first
  /// sign of life.
  std::function<bool(int rank)> is_far = {};
  /// Of ranks, for people: host and process number.
  std::function<std::string(int rank)> describe;
  /// A number that grows as this process gets on, for the others to report.
  std::function<std::int64_t()> progress = {};
  /// Told, once and on any thread, of an expendable rank that is gone.
  std::function<void(int rank, const FailurePtr& why)> on_gone = {};
  /// Not at rank 0: told, on any thread, that one of them has come back, and what it is.
  std::function<void(int rank, const Tensor& member)> on_returned = {};
};

/// Who is still there. Every process sends heartbeats to rank 0, and rank 0 to every process; a process whose heart
/// stops, or whose connection breaks, is lost, and rank 0 tells all. With the loss of one the job is lost, unless that
/// one is expendable: then it is gone, and learns that it is given up if it still lives. A thread of its own sends and
/// watches. Thread-safe.
class Membership {
 public:
  /// `links`: from rank 0 to every other rank, from those to rank 0. Throws Error if the interval is not positive.
  Membership(MembershipOptions options, std::map<int, std::shared_ptr<Link>> links);
  /// Ends the watch; to the others this process is lost unless it has left.
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  /// From now on the others go on without these ranks. Not rank 0.
  void set_expendable(std::set<int> ranks);
  std::set<int> expendable() const;
  /// The first loss: rank and why. Null as long as all are there.
  FailurePtr lost() const;
  /// Whether an expendable rank is gone.
  bool gone(int rank) const;

  // Rank 0, when a rank that is gone has come back.

  /// Tells all who are there.
  void tell_returned(int rank, const Tensor& member);
  /// Whether they have heard it.
  bool all_know(int rank) const;
  /// It is no longer gone. `link` leads to it.
  void take_back(int rank, std::shared_ptr<Link> link);

  /// Called once, on any thread, when somebody is lost; at once if that has happened. Not after it is destroyed, but
  /// perhaps in that moment.
  using OnLost = std::function<void(const FailurePtr&)>;
  void on_lost(std::weak_ptr<const OnLost> callback);
  /// Every rank calls this in the end, and leaves when all have. Throws Error that names a rank that is lost meanwhile,
  /// or that has not come within the limit.
  void leave(std::chrono::milliseconds limit);

 private:
  using Clock = std::chrono::steady_clock;
  /// What the watch knows of one peer.
  struct Peer {
    std::shared_ptr<Link> link;
    /// The time since its last sign of life, an interval for each look of the watch; negative while the first sign may
    /// take longer.
    std::chrono::milliseconds silence{0};
    std::int64_t progress = 0;
    bool leaving = false;
  };

  void watch();
  void receive(std::unique_lock<std::mutex>& lock);
  void take(int from, const IncomingFrame& frame, std::unique_lock<std::mutex>& lock);
  void note_returned(int from, const IncomingFrame& frame, std::unique_lock<std::mutex>& lock);
  void watch_link(Link& link);
  FailurePtr loss_in(const IncomingFrame& frame, int from) const;
  void beat(std::unique_lock<std::mutex>& lock);
  std::vector<std::shared_ptr<Link>> links_to_all() const;
  static void send_to(const std::vector<std::shared_ptr<Link>>& links, const Frame& frame,
                      std::unique_lock<std::mutex>& lock);
  void send_to_all(const Frame& frame, std::unique_lock<std::mutex>& lock);
  void look_for_losses(std::unique_lock<std::mutex>& lock);
  Peer newly_connected(int rank, std::shared_ptr<Link> link) const;
  void lose(const FailurePtr& failure, std::unique_lock<std::mutex>& lock);
  bool all_leaving() const;
  FailurePtr loss_of(int rank, const std::string& why, const FailurePtr& cause = nullptr) const;

  const MembershipOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, Peer> peers_;
  std::vector<std::weak_ptr<const OnLost>> on_lost_;
  FailurePtr lost_;
  std::set<int> expendable_, gone_;
  std::set<int> going_;                   // gone, but not all here have been told
  std::map<int, std::set<int>> to_know_;  // by rank that comes back: those who have not heard of it
  bool woken_ = false;
  bool leaving_ = false, left_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace troupe
