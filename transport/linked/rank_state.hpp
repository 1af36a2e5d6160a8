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

/// The phases of a collective: a rank sends its inputs to the others, and in some collectives results after them.
enum Phase : std::int32_t { inputs, results, kPhases };

/// A part up to here is sent at once; a larger one when the receiver has begun the collective and has room for it.
inline constexpr std::size_t kEagerBytes = std::size_t{64} << 10;

/// The header of a part of collective number `number`, or of the word that a rank is ready for it, and the signature
/// in it.
FrameHeader header_of(FrameType type, const CallSignature& signature, std::int64_t number, Phase phase);
CallSignature signature_of(const FrameHeader& header);

/// The messages that have come for one collective and were not used yet.
struct Arrived {
  explicit Arrived(int ranks);

  /// By phase and rank, in the order in which they were sent.
  std::array<std::vector<std::deque<IncomingFrame>>, kPhases> parts;
  std::array<std::vector<std::size_t>, kPhases> parts_taken_in;
  /// The header of the word that a rank is ready for large parts.
  std::vector<std::optional<FrameHeader>> ready;
  /// How many parts a rank sends in a phase at most.
  std::size_t most_parts = 1;
};

/// One rank's view of the group: its links, and what came over them. The works of a rank may be advanced on several
/// threads: each holds the lock meanwhile, except for what says any thread.
class RankState {
 public:
  RankState(int rank, std::vector<std::shared_ptr<Link>> links);

  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(links_.size()); }
  /// All other ranks, from the next one on, in which order this one sends: not all send to the same rank at first.
  const std::vector<int>& others() const { return others_; }
  std::int64_t next_number() { return next_number_++; }

  [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }

  /// Names the listener of a collective, by its number; it is called on any thread when there may be more to do. Any
  /// thread.
  void listen(std::int64_t key, ProgressListener listener);
  void forget(std::int64_t key);
  void notify();

  /// Takes in what has come. Throws Aborted if the group was given up.
  void receive();
  /// Throws Aborted if the group was given up.
  void check() const { abort_.check(); }

  Arrived& arrived(std::int64_t number);
  /// Forgets a collective.
  void complete(std::int64_t number);
  /// Gives the group up and throws Aborted if another rank has called something else as collective `number`.
  void expect_agreement(std::int64_t number, const CallSignature& signature);
  /// Throws Aborted if nothing will come from a rank any more.
  void expect_alive(int from);
  void send(int to, const Frame& frame);

  // The tensors that ranks send to this one outside of collectives: see ReceiveWork. Any thread.
  Receive post(int from, int to);
  /// Throws Aborted if the tensor will never be there.
  std::optional<Tensor> take(const Receive& request);
  void listen(const Receive& request, ProgressListener listener) { listen(key_of(request), std::move(listener)); }
  void drop(const Receive& request);

  /// Gives the group up on all ranks. Any thread.
  void abort(const FailurePtr& failure);
  /// Gives the group up, and throws Aborted. Any thread.
  [[noreturn]] void give_up(const FailurePtr& failure);

 private:
  void take(int from, IncomingFrame frame);
  void take_part(int from, IncomingFrame frame);
  void take_ready(int from, const FrameHeader& header);
  void check_number(int from, const FrameHeader& header);
  /// The key of the listener of a receive; collectives have their numbers as keys.
  std::int64_t key_of(const Receive& request) const { return -1 - (request.number * ranks() + request.from); }

  const int rank_;
  const std::vector<std::shared_ptr<Link>> links_;  // by rank; none to itself
  std::vector<int> others_;
  Abort abort_;
  std::int64_t next_number_ = 0;
  std::map<std::int64_t, Arrived> arrived_;
  std::vector<Inbox> inboxes_;  // by rank
  std::mutex mutex_;
  std::mutex listeners_mutex_;
  std::map<std::int64_t, ProgressListener> listeners_;
};

}  // namespace troupe::linked
