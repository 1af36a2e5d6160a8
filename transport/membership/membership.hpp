#pragma once

// Membership watches the processes of a job. A rank has one of these states:
//
//   expected   The rendezvous waits for the rank's HELLO, the message with which a process joins.
//   present    The rank is connected, and its heartbeats arrive.
//   leaving    The rank has called leave() and waits until the other ranks have called it.
//   left       All ranks have called leave(). A silent or closed link is no longer a loss.
//   lost       The rank died, fell silent or was cut off. The job ends.
//   gone       The rank is lost, but expendable: its links fail, and the other ranks go on.
//   returned   Another process has joined with a rank that was gone. The rank is present again.
//
// For a training run there is one more state: a rank that is gone, or that returned after the run began, is absent from
// the run.

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
#include "troupe/transport/membership/busy_ranks.hpp"

namespace troupe {

/// The heartbeats, time limits and callbacks of a Membership.
struct MembershipOptions {
  int rank = 0;
  /// The interval between two heartbeats. Must be positive.
  std::chrono::milliseconds interval{250};
  /// A process is lost when no frame from it has arrived for longer than this. The time is counted in intervals of the
  /// watching thread, so it stands still while the watching process gets no processor time.
  std::chrono::milliseconds limit{2'500};
  /// Returns whether a rank is reached over a network, where the first packets may be lost. The limit for the first
  /// heartbeat of such a rank is 4 s longer.
  std::function<bool(int rank)> is_far = {};
  /// Returns the name of the process of a rank for error texts, with its host and process number.
  std::function<std::string(int rank)> describe;
  /// Returns a number that differs between processes that have joined with the same rank one after the other. A report
  /// of a loss is ignored if it concerns a process of the rank that was replaced. Not set: 0 for all.
  std::function<std::uint64_t(int rank)> incarnation = {};
  /// Called, on any thread, each time an expendable rank becomes gone.
  std::function<void(int rank, const FailurePtr& why)> on_gone = {};
  /// Called at a rank other than 0, on any thread, when a rank has returned. `member` has the bytes that rank 0 passed
  /// to tell_returned(). If it throws Error, this rank does not confirm the return.
  std::function<void(int rank, const Tensor& member)> on_returned = {};
};

/// Sends heartbeats from every rank to rank 0 and from rank 0 to every rank, and reports losses. A process is lost when
/// its heartbeats stop or its connection breaks; if it is expendable, it is gone instead. In both cases rank 0 sends
/// the failure to every other rank, also to the lost one, which may still live. A thread of this object sends and
/// watches. Thread-safe.
class Membership {
 public:
  /// `links` lead from rank 0 to every other rank, and from another rank to rank 0 only. Throws Error if the interval
  /// is not positive.
  Membership(MembershipOptions options, std::map<int, std::shared_ptr<Link>> links);
  /// Stops the heartbeats. Unless all ranks have called leave(), the other ranks then lose this process.
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  /// Makes exactly these ranks expendable from now on: if one of them is lost, the other ranks go on. Rank 0 must not
  /// be among them.
  void set_expendable(std::set<int> ranks);
  std::set<int> expendable() const;
  /// Reports that a link of this process to rank `rank` has failed: the rank is lost, or gone. `why` is a text such as
  /// `the connection has ended`. Returns at once; the thread of this object reports the loss. An expendable rank that
  /// reports the loss of a rank that is not expendable becomes gone itself. Does nothing once leave() was called.
  void link_failed(int rank, const FailurePtr& why);
  /// The states of busy ranks, which the heartbeats carry.
  BusyRanks& busy() { return busy_; }
  /// Returns the first loss of a rank, with the reason; null while no rank is lost.
  FailurePtr lost() const;
  /// Whether an expendable rank is gone, and on_gone has returned.
  bool gone(int rank) const;

  // The next three functions are called at rank 0, in this order, when a rank that is gone returns.

  /// Sends `member`, which describes the process that returns with rank `rank`, to all ranks that are present, and
  /// expects them to confirm it.
  void tell_returned(int rank, const Tensor& member);
  /// Whether every rank that was present at tell_returned() has confirmed the return or is gone by now.
  bool all_confirmed(int rank) const;
  /// Makes a rank that was gone present again. `link` leads to the process that returns with the rank.
  void take_back(int rank, std::shared_ptr<Link> link);

  /// Adds a callback that is called once, on any thread, when a rank is lost; at once if one is lost already. The
  /// caller owns the callback, and destroys it to remove it. A call may run until the destructor of Membership returns.
  using OnLost = std::function<void(const FailurePtr&)>;
  void on_lost(std::weak_ptr<const OnLost> callback);
  /// Blocks until every rank has called leave() or is gone. Throws Error that names a rank that is lost meanwhile, or,
  /// after `limit`, the ranks that have not called leave(); a rank other than 0 names rank 0 in this case.
  void leave(std::chrono::milliseconds limit);

 private:
  using Clock = std::chrono::steady_clock;
  struct Peer {
    std::shared_ptr<Link> link;
    /// The time since the last frame of the peer, in whole intervals. Starts at -4 s for a rank that is far, so that
    /// its first heartbeat may take longer.
    std::chrono::milliseconds silence{0};
    bool leaving = false;
  };
  /// A mutex that guards the members of Membership, and a condition that wakes the threads that wait for a change. The
  /// callbacks of the links share the object, because they may still run after Membership is destroyed.
  struct Signal {
    std::mutex mutex;
    std::condition_variable changed;
    bool frame_arrived = false;  // wakes the watching thread
  };

  // The caller of a function with a parameter `lock` holds that lock of signal_->mutex; the function releases it while
  // it sends a frame or calls a callback.

  void watch();
  void receive(std::unique_lock<std::mutex>& lock);
  Frame heartbeat() const;
  void lose_reported(std::unique_lock<std::mutex>& lock);
  /// Returns whether rank 0 is silent or its link has failed. Another rank may then have ended because it has lost rank
  /// 0, so its loss is not reported before rank 0 is heard again or is lost.
  bool is_rank_zero_missed() const;
  /// Handles the report of rank `from` that the rank of `failure` is lost.
  void take_loss(int from, const IncomingFrame& frame, std::unique_lock<std::mutex>& lock);
  std::uint64_t incarnation(int rank) const { return options_.incarnation ? options_.incarnation(rank) : 0; }
  void take(int from, const IncomingFrame& frame, std::unique_lock<std::mutex>& lock);
  void note_returned(int from, const IncomingFrame& frame, std::unique_lock<std::mutex>& lock);
  /// Returns the failure that a frame of rank `from` reports. If the frame is damaged, returns the loss of `from`
  /// instead of throwing, because an exception would end the watching thread.
  FailurePtr loss_in(const IncomingFrame& frame, int from) const;
  std::vector<std::shared_ptr<Link>> links_to_all() const;
  /// Sends a frame on all links, and releases the lock meanwhile: the other end of a link may be in this process, and
  /// its callback then locks the mutex of the Membership there.
  static void send_to(const std::vector<std::shared_ptr<Link>>& links, const Frame& frame,
                      std::unique_lock<std::mutex>& lock);
  /// Called once per interval: adds an interval to the silence of every peer, and passes the first peer that is silent
  /// for too long, or whose link has failed, to lose(). Counts intervals instead of reading a clock, because a process
  /// that is stopped or waits for a processor does not read the heartbeats that arrive.
  void look_for_losses(std::unique_lock<std::mutex>& lock);
  /// Returns a new peer, and makes its link wake the watching thread. Call it without the lock, which the callback of
  /// the link takes.
  Peer newly_connected(int rank, std::shared_ptr<Link> link) const;
  /// Records that the rank of `failure` is lost, or gone if it is expendable, sends this on all links, and calls the
  /// callbacks of on_lost(), or on_gone. Does nothing if a rank is lost already, or if this one is gone already.
  void lose(const FailurePtr& failure, std::unique_lock<std::mutex>& lock);
  /// Returns the ranks that have not called leave() and are not gone, as `1, 3`.
  std::string staying() const;
  FailurePtr loss_of(int rank, const std::string& why, const FailurePtr& cause = nullptr) const;

  const MembershipOptions options_;
  const std::shared_ptr<Signal> signal_ = std::make_shared<Signal>();
  BusyRanks busy_{options_.rank};
  std::map<int, Peer> peers_;
  std::vector<std::weak_ptr<const OnLost>> on_lost_;
  FailurePtr lost_;
  std::vector<std::pair<int, FailurePtr>> failed_links_;  // by rank: failures that link_failed() was told
  std::set<int> expendable_, gone_;
  std::set<int> going_;                       // ranks in gone_ for which on_gone has not returned
  std::map<int, std::set<int>> unconfirmed_;  // by returning rank: the ranks that have not confirmed its return
  bool leaving_ = false, left_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace troupe
