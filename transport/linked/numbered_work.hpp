#pragma once

#include <atomic>
#include <memory>

#include "troupe/transport/linked/chunks.hpp"
#include "troupe/transport/linked/rank_state.hpp"
#include "troupe/transport/work.hpp"

namespace troupe::linked {

/// A collective in progress on one rank, whatever its steps are: the ranks count their collectives, and agree on what
/// each is. The tensors that this rank sends are free when the others have read all of them, or when this is destroyed.
class NumberedWork : public HostWork {
 public:
  NumberedWork(std::shared_ptr<RankState> state, const CallSignature& signature)
      : state_(std::move(state)), signature_(signature) {}
  ~NumberedWork() override;

  /// Sends what can be sent at once. Throws Aborted if the ranks are known not to agree.
  void begin();

  bool advance(std::size_t local) final;
  void listen(std::size_t local, ProgressListener listener) final;

 protected:
  RankState& state() const { return *state_; }
  const CallSignature& signature() const { return signature_; }
  Arrived& arrived() { return state_->arrived(number_); }
  bool is_complete() const { return done_; }

  std::size_t chunks_of(std::int64_t elements) const { return linked::chunks_of(elements, signature_.dtype); }
  Slice chunk_of(std::int64_t elements, std::size_t number) const {
    return linked::chunk_of(elements, signature_.dtype, number);
  }
  /// The payload of a frame. Throws Error if it is not a chunk of `count` elements.
  const IncomingPayload& expect_chunk(const IncomingFrame& frame, int from, std::int64_t count) const;

  // All with the lock of the rank's state held.
  /// Says to a rank that this one takes large parts.
  void send_ready(int to);
  /// The tensor is awaited by all_read().
  void send(int to, Phase phase, const Tensor& payload);
  /// A tensor that has been read when the collective is complete, by what the others send then.
  void send_unawaited(int to, Phase phase, const Tensor& payload);
  /// To all others. What is not too large is copied, so that this rank need not wait for them.
  void send_to_all(Phase phase, const Tensor& payload);
  /// Whether no other rank reads this rank's tensors any more. If one does, the listeners hear of it. Throws Aborted if
  /// a rank that might read is gone.
  bool all_read();

 private:
  // All with the lock of the rank's state held.
  virtual void begin_steps() = 0;
  /// Whether the collective is complete.
  virtual bool advance_steps() = 0;
  /// Drops the caller's tensors: the lender counts their handles.
  virtual void release() = 0;

  Frame frame_of(Phase phase, const Tensor& payload, std::shared_ptr<const PayloadGuard> guard) const;

  std::shared_ptr<RankState> state_;
  CallSignature signature_;
  std::int64_t number_ = -1;  // also the priority of what it sends
  bool done_ = false;
  std::shared_ptr<PayloadGuard> guard_ = std::make_shared<PayloadGuard>();
  std::weak_ptr<const PayloadGuard> unread_;  // held by whatever was sent and not read
  std::shared_ptr<std::atomic<bool>> awaited_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace troupe::linked
