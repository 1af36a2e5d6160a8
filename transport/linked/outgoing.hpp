#pragma once

#include <atomic>
#include <memory>

#include "troupe/transport/linked/rank_state.hpp"

namespace troupe::linked {

/// What a rank sends in one collective. Its tensors are free when the others have read all of it, or when this is
/// destroyed. Used with the lock of the rank's state held.
class Outgoing {
 public:
  Outgoing(std::shared_ptr<RankState> state, const CallSignature& signature)
      : state_(std::move(state)), signature_(signature) {}
  ~Outgoing() { guard_->withdraw(); }
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;

  /// The number of the collective, and the priority of what it sends.
  void begin(std::int64_t number) { number_ = number; }
  /// Says to a rank that this one takes large parts.
  void send_ready(int to);
  /// The tensor is awaited by all_read().
  void send(int to, Phase phase, const Tensor& payload);
  /// A tensor that has been read when the collective is complete, by what the others send then.
  void send_unawaited(int to, Phase phase, const Tensor& payload);
  /// To all others. What is not too large is copied, so that this rank need not wait for them.
  void send_to_all(Phase phase, const Tensor& payload);
  /// Whether nobody reads this rank's tensors any more. If not, the listeners hear of it. Throws Aborted if a rank that
  /// might read is gone.
  bool all_read();

 private:
  Frame frame_of(Phase phase, const Tensor& payload, std::shared_ptr<const PayloadGuard> guard) const;

  std::shared_ptr<RankState> state_;
  CallSignature signature_;
  std::int64_t number_ = -1;
  std::shared_ptr<PayloadGuard> guard_ = std::make_shared<PayloadGuard>();
  std::weak_ptr<const PayloadGuard> unread_;  // held by whatever was sent and not read
  std::shared_ptr<std::atomic<bool>> awaited_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace troupe::linked
