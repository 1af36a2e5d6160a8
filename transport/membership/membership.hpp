#pragma once

// Membership watches the processes of a job. A rank has one of these states:
//
//   expected   The rendezvous waits for its HELLO.
//   present    It is connected, and its heartbeats arrive.
//   leaving    It has called leave() and waits for the others.
//   left       All ranks have called leave(). A silent or closed link is no longer a loss.
//   lost       It died, fell silent or was cut off. The job ends with it.
//   gone       It is lost, but expendable: its links fail, and the others go on.
//   returned   Another process has joined with the rank of one that was gone. It is present again; its returns are
//              counted.
//
// A run knows one more state: a rank that is gone, or that returned after the run began, is absent from the run.

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

/// The heartbeats and time limits of a membership.
struct MembershipOptions {
  int rank = 0;
  /// The interval of heartbeats. Must be positive.
  std::chrono::milliseconds interval{250};
  /// The longest silence of a process that is not lost. Silence is counted in intervals of the watching thread: if the
  /// watching process gets no processor time, the others have as much longer.
  std::chrono::milliseconds limit{2'500};
  /// Whether a rank is reached over a network, where the first packets may be lost. Such a rank has 4 s more for its
  /// first heartbeat.
  std::function<bool(int rank)> is_far = {};
  /// The process of a rank as named in error texts: its host and process number.
  std::function<std::string(int rank)> describe;
  /// Called once, on any thread, when an expendable rank is gone.
  std::function<void(int rank, const FailurePtr& why)> on_gone = {};
  /// Called, on any thread of a rank other than 0, when a rank has returned; `member` has the bytes that rank 0 passed
  /// to tell_returned().
  std::function<void(int rank, const Tensor& member)> on_returned = {};
};

/// Sends heartbeats from every rank to rank 0 and from rank 0 to every rank, and reports losses. A process is lost when
/// its heartbeats stop or its connection breaks; rank 0 tells all others. An expendable process is gone instead, and is
/// told so, in case it still lives. A thread of its own sends and watches. Thread-safe.
class Membership {
 public:
  /// `links` lead from rank 0 to every other rank, and from the others to rank 0. Throws Error if the interval is not
  /// positive.
  Membership(MembershipOptions options, std::map<int, std::shared_ptr<Link>> links);
  /// Stops the heartbeats. The others lose this process unless it has left.
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  /// Makes exactly these ranks expendable from now on. Rank 0 must not be among them.
  void set_expendable(std::set<int> ranks);
  std::set<int> expendable() const;
  /// The first loss of a rank, with the reason. Null while no rank is lost.
  FailurePtr lost() const;
  /// Whether an expendable rank is gone. True once on_gone has returned.
  bool gone(int rank) const;

  // Called at rank 0, in this order, when a rank that is gone returns.

  /// Sends the member's bytes to all ranks that are present.
  void tell_returned(int rank, const Tensor& member);
  /// Whether all ranks that were present then have confirmed the return or are gone.
  bool all_confirmed(int rank) const;
  /// Makes the rank present. `link` leads to it.
  void take_back(int rank, std::shared_ptr<Link> link);

  /// Calls back once, on any thread, when a rank is lost; at once if one is lost already. Calls may run until the
  /// destructor returns.
  using OnLost = std::function<void(const FailurePtr&)>;
  void on_lost(std::weak_ptr<const OnLost> callback);
  /// Waits until every rank has called it or is gone. Throws Error that names a rank that is lost meanwhile, or that
  /// has not called it within the limit.
  void leave(std::chrono::milliseconds limit);

 private:
  using Clock = std::chrono::steady_clock;
  struct Peer {
    std::shared_ptr<Link> link;
    /// The time since its last frame, in whole intervals. Starts below 0 if the first heartbeat may take longer.
    std::chrono::milliseconds silence{0};
    bool leaving = false;
  };
  /// Guards the members of Membership, and wakes the threads that wait for a change. The callbacks of the links share
  /// it, because they may still run after Membership is destroyed.
  struct Signal {
    std::mutex mutex;
    std::condition_variable changed;
    bool frame_arrived = false;  // wakes the watching thread
  };

  // Functions that take `lock` are called with it and release it while they send or call back.

  void watch();
  void receive(std::unique_lock<std::mutex>& lock);
  void take(int from, const IncomingFrame& frame, std::unique_lock<std::mutex>& lock);
  void note_returned(int from, const IncomingFrame& frame, std::unique_lock<std::mutex>& lock);
  /// The loss that a frame reports. If the frame is damaged, the loss of its sender, because the watching thread must
  /// not throw.
  FailurePtr loss_in(const IncomingFrame& frame, int from) const;
  std::vector<std::shared_ptr<Link>> links_to_all() const;
  /// Sends without the lock: the other end of a link may be in this process, and its callback locks.
  static void send_to(const std::vector<std::shared_ptr<Link>>& links, const Frame& frame,
                      std::unique_lock<std::mutex>& lock);
  /// Called once per interval. Counts intervals instead of reading a clock: while this process is stopped or waits for
  /// a processor, heartbeats that have arrived wait, too.
  void look_for_losses(std::unique_lock<std::mutex>& lock);
  /// A peer whose link wakes the watching thread. Call it without the lock, which the callback of the link takes.
  Peer newly_connected(int rank, std::shared_ptr<Link> link) const;
  /// Records the loss of a rank, or that it is gone, and tells all. Only the first loss counts.
  void lose(const FailurePtr& failure, std::unique_lock<std::mutex>& lock);
  /// The ranks that neither leave nor are gone, as `1, 3`.
  std::string staying() const;
  FailurePtr loss_of(int rank, const std::string& why, const FailurePtr& cause = nullptr) const;

  const MembershipOptions options_;
  const std::shared_ptr<Signal> signal_ = std::make_shared<Signal>();
  std::map<int, Peer> peers_;
  std::vector<std::weak_ptr<const OnLost>> on_lost_;
  FailurePtr lost_;
  std::set<int> expendable_, gone_;
  std::set<int> going_;                       // ranks in gone_ whose on_gone has not returned
  std::map<int, std::set<int>> unconfirmed_;  // by rank that returns: the ranks that have not confirmed it
  bool leaving_ = false, left_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace troupe
