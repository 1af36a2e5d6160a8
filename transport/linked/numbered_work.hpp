#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "troupe/transport/linked/chunks.hpp"
#include "troupe/transport/linked/rank_state.hpp"
#include "troupe/transport/work.hpp"

namespace troupe::linked {

/// The base of the works of collectives between ranks that links connect. Every rank numbers its collectives, and the
/// ranks check that they have begun the same collective with each number. The derived class sends and receives the
/// chunks of the collective. Other ranks may read the tensors that this rank sends until the work is complete or
/// destroyed.
class NumberedWork : public HostWork {
 public:
  NumberedWork(std::shared_ptr<RankState> state, const CallSignature& signature)
      : state_(std::move(state)), signature_(signature), unread_(static_cast<std::size_t>(state_->ranks())) {}
  ~NumberedWork() override;

  /// Gives the collective the next number, and sends all frames that can be sent at once. Throws Aborted if another
  /// rank is known to have begun another collective with this number or to have left before this number, or if the
  /// group was given up, which means that RankState::abort() has ended it.
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
  /// Returns the payload of a frame from rank `from`. Throws Error if the payload is not as long as `count` elements.
  const IncomingPayload& expect_chunk(const IncomingFrame& frame, int from, std::int64_t count) const;

  // The functions below must be called with RankState::lock() held.
  /// Sends rank `to` a frame of type collective_ready. It allows that rank to send parts above kEagerBytes.
  void send_ready(int to);
  /// Sends a chunk to rank `to`. all_read() returns false until the rank has read the chunk.
  void send(int to, Phase phase, const Tensor& payload);
  /// Sends a chunk to rank `to` that all_read() ignores. It is for chunks after which the collective needs other chunks
  /// that rank `to` sends only once it has read this one.
  void send_unawaited(int to, Phase phase, const Tensor& payload);
  /// Sends a chunk to all other ranks. A chunk of at most kStagedBytes is sent as a copy, which all_read() ignores; a
  /// larger chunk is sent by send().
  void send_to_all(Phase phase, const Tensor& payload);
  /// Returns true once the other ranks have read all chunks of send(). If it returns false, the listeners are called
  /// when the last of these chunks is read. Throws Aborted if the link to a rank that has not read a chunk has
  /// failed.
  bool all_read();

 private:
  // The functions below must be called with RankState::lock() held.
  virtual void begin_steps() = 0;
  /// Does all steps that can be done now. Returns true once the collective is complete on this rank.
  virtual bool advance_steps() = 0;
  /// Drops the caller's tensors. The caller may check that no handle is left when the work is complete.
  virtual void release() = 0;

  Frame frame_of(Phase phase, const Tensor& payload, std::shared_ptr<const PayloadGuard> guard) const;

  std::shared_ptr<RankState> state_;
  CallSignature signature_;
  std::int64_t number_ = -1;  // the number of the collective and the priority of its frames
  bool done_ = false;
  std::shared_ptr<PayloadGuard> guard_ = std::make_shared<PayloadGuard>();
  // By rank: expired unless the rank has not read a frame of send().
  std::vector<std::weak_ptr<const PayloadGuard>> unread_;
  std::shared_ptr<std::atomic<bool>> awaited_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace troupe::linked
