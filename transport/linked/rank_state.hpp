#pragma once

#include <array>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "troupe/transport/collective_call.hpp"
#include "troupe/transport/inbox.hpp"
#include "troupe/transport/link.hpp"
#include "troupe/transport/progress_listener.hpp"

namespace troupe::linked {

/// The phases of a collective: a rank sends inputs to other ranks, and in some collectives results after them.
enum Phase : std::int32_t { inputs, results, kPhases };

/// A part, which is all that one rank sends to another in a phase, is sent at once if it has at most kEagerBytes. For a
/// larger part the receiver must first have sent a frame of type collective_ready, so that no rank has to hold large
/// frames of collectives that it has not begun.
inline constexpr std::size_t kEagerBytes = std::size_t{64} << 10;

/// header_of() makes the header of a frame of collective `number`; `type` must be collective_part or collective_ready.
/// The header holds the signature, which signature_of() reads from it.
FrameHeader header_of(FrameType type, const CallSignature& signature, std::int64_t number, Phase phase);
CallSignature signature_of(const FrameHeader& header);

/// The frames that have arrived at one rank for one collective and are not used yet, and the number of frames that have
/// arrived.
struct Arrived {
  explicit Arrived(int ranks);

  /// The frames with chunks, by phase and sender, in the order in which they were sent.
  std::array<std::vector<std::deque<IncomingFrame>>, kPhases> parts;
  std::array<std::vector<std::size_t>, kPhases> parts_taken_in;
  /// The header of the frame of type collective_ready, by sender; nothing if it has not arrived.
  std::vector<std::optional<FrameHeader>> ready;
  /// The largest number of frames of type collective_part that another rank may send to this one in a phase. One more
  /// is an error.
  std::size_t most_parts = 1;
};

/// The state of one rank in its group: the rank's links, and the frames that came over them. The works of a rank may be
/// advanced on several threads. A thread must hold lock() while it calls a function of this class, except rank(),
/// ranks(), others(), check() and the functions marked with "any thread".
class RankState {
 public:
  RankState(int rank, std::vector<std::shared_ptr<Link>> links);

  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(links_.size()); }
  /// All other ranks in the order in which this rank sends to them. The list begins with the next rank, so that the
  /// ranks do not all send to the same rank first.
  const std::vector<int>& others() const { return others_; }
  std::int64_t next_number() { return next_number_++; }

  [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }

  /// listen() sets the listener for a key, the number of a collective or key_of() of a receive; an empty listener is
  /// ignored. forget() removes the listener of a key. notify() calls all listeners; it is called when a work may be
  /// able to advance. All three: any thread.
  void listen(std::int64_t key, ProgressListener listener);
  void forget(std::int64_t key);
  void notify();

  /// Takes the frames that have arrived from the links, and keeps them by collective or by receive. Calls give_up() if
  /// a frame is not valid. Throws Aborted if the group was given up, in this call or before, by this rank or by
  /// another.
  void receive();
  /// Throws Aborted if the group was given up: see abort().
  void check() const { abort_.check(); }
  /// Throws Departed if a rank has left the group before it began collective `number`, which then cannot complete. Does
  /// not take frames from the links.
  void check(std::int64_t number) const;
  /// Throws Aborted if the group was given up, and Departed if a rank has left before the next collective of this rank.
  /// Locks mutex_, so the caller must not hold lock(). Any thread.
  void check_next();

  Arrived& arrived(std::int64_t number);
  /// Drops the frames and the listener of a collective.
  void complete(std::int64_t number);
  /// Calls give_up() if a frame that has arrived shows that another rank has begun a collective with another signature
  /// as collective `number`.
  void expect_agreement(std::int64_t number, const CallSignature& signature);
  /// Calls give_up() if the link to rank `from`, which must be another rank, has failed, so that no frame will come
  /// from it any more.
  void expect_alive(int from);
  void send(int to, const Frame& frame);

  // ReceiveWork calls the next functions for a tensor that a rank sends to this one outside of collectives. They lock
  // mutex_, so the caller must not hold lock(). Any thread.
  Receive post(int from, int to);
  /// Returns the tensor of a receive, or nothing if the tensor has not come yet. Throws Aborted if it will never come.
  std::optional<Tensor> take(const Receive& request);
  void listen(const Receive& request, ProgressListener listener) { listen(key_of(request), std::move(listener)); }
  void drop(const Receive& request);

  /// Gives the group up on all ranks: every work of the group then throws Aborted. Keeps the failure, and sends it to
  /// the other ranks. Does nothing after the first failure. Any thread.
  void abort(const FailurePtr& failure);
  /// Declares that this rank begins no further collective: collectives that it has not begun, and receives of tensors
  /// that it has not sent, fail with `failure` on all ranks. The rank must still advance the works that it has begun.
  /// Sends the number of the first such collective to the other ranks. Does nothing after the first call. Locks mutex_,
  /// so the caller must not hold lock(). Any thread.
  void leave(const FailurePtr& failure);
  /// Calls abort(), and throws Aborted with the first failure. Any thread.
  [[noreturn]] void give_up(const FailurePtr& failure);

 private:
  /// The first collective that a rank that has left does not begin, and the reason; null while it has not left.
  struct Departure {
    std::int64_t number = 0;
    FailurePtr failure;
  };

  void take(int from, IncomingFrame frame);
  void take_part(int from, IncomingFrame frame);
  void take_ready(int from, const FrameHeader& header);
  void take_leave(int from, const IncomingFrame& frame);
  void check_number(int from, const FrameHeader& header);
  /// Returns the key of the listener of a receive. It is negative, because the keys of collectives are their numbers.
  std::int64_t key_of(const Receive& request) const { return -1 - (request.number * ranks() + request.from); }

  const int rank_;
  const std::vector<std::shared_ptr<Link>> links_;  // by rank; null for this rank
  std::vector<int> others_;
  Abort abort_;
  std::int64_t next_number_ = 0;
  std::map<std::int64_t, Arrived> arrived_;
  std::vector<Inbox> inboxes_;         // by sender
  std::vector<Departure> departures_;  // by rank
  std::mutex mutex_;
  std::mutex listeners_mutex_;
  std::map<std::int64_t, ProgressListener> listeners_;
};

}  // namespace troupe::linked
