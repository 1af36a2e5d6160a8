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

/// header_of() makes the header of a frame of collective `number`: a part, or collective_ready. It holds the signature,
/// which signature_of() returns.
FrameHeader header_of(FrameType type, const CallSignature& signature, std::int64_t number, Phase phase);
CallSignature signature_of(const FrameHeader& header);

/// The frames that have arrived for one collective and are not used yet.
struct Arrived {
  explicit Arrived(int ranks);

  /// The frames with chunks, by phase and sender, in the order in which they were sent.
  std::array<std::vector<std::deque<IncomingFrame>>, kPhases> parts;
  std::array<std::vector<std::size_t>, kPhases> parts_taken_in;
  /// The header of the frame of type collective_ready, by sender; nothing if it has not arrived.
  std::vector<std::optional<FrameHeader>> ready;
  /// The most frames that a rank sends to this one in a phase. One more is an error.
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
  /// All other ranks in the order in which this rank sends to them. It begins with the next rank, so that the ranks do
  /// not all send to the same rank first.
  const std::vector<int>& others() const { return others_; }
  std::int64_t next_number() { return next_number_++; }

  [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }

  /// listen() sets the listener for a key, the number of a collective or key_of() of a receive; an empty listener is
  /// ignored. forget() removes it. notify() calls all listeners, when there may be more to do. All three: any thread.
  void listen(std::int64_t key, ProgressListener listener);
  void forget(std::int64_t key);
  void notify();

  /// Takes the frames that have arrived from the links. Gives the group up if a frame is not valid. Throws Aborted if
  /// the group was given up, here or earlier, by this rank or by another.
  void receive();
  /// Throws Aborted if the group was given up.
  void check() const { abort_.check(); }

  Arrived& arrived(std::int64_t number);
  /// Drops the frames and the listener of a collective.
  void complete(std::int64_t number);
  /// Gives the group up and throws Aborted if another rank has begun a collective with another signature as collective
  /// `number`.
  void expect_agreement(std::int64_t number, const CallSignature& signature);
  /// Gives the group up and throws Aborted if no frame will come from a rank any more, because the link to the rank has
  /// failed.
  void expect_alive(int from);
  void send(int to, const Frame& frame);

  // The functions that ReceiveWork needs for tensors that ranks send to this one outside of collectives. They take the
  // lock themselves. Any thread.
  Receive post(int from, int to);
  /// Throws Aborted if the tensor will never come.
  std::optional<Tensor> take(const Receive& request);
  void listen(const Receive& request, ProgressListener listener) { listen(key_of(request), std::move(listener)); }
  void drop(const Receive& request);

  /// Gives the group up on all ranks: keeps the failure, and sends it to the other ranks. The first failure counts. Any
  /// thread.
  void abort(const FailurePtr& failure);
  /// Calls abort(), and throws Aborted with the first failure. Any thread.
  [[noreturn]] void give_up(const FailurePtr& failure);

 private:
  void take(int from, IncomingFrame frame);
  void take_part(int from, IncomingFrame frame);
  void take_ready(int from, const FrameHeader& header);
  void check_number(int from, const FrameHeader& header);
  /// The key of the listener of a receive; collectives have their numbers as keys.
  std::int64_t key_of(const Receive& request) const { return -1 - (request.number * ranks() + request.from); }

  const int rank_;
  const std::vector<std::shared_ptr<Link>> links_;  // by rank; null for this rank
  std::vector<int> others_;
  Abort abort_;
  std::int64_t next_number_ = 0;
  std::map<std::int64_t, Arrived> arrived_;
  std::vector<Inbox> inboxes_;  // by sender
  std::mutex mutex_;
  std::mutex listeners_mutex_;
  std::map<std::int64_t, ProgressListener> listeners_;
};

}  // namespace troupe::linked
