#pragma once

#include "troupe/transport/linked/outgoing.hpp"
#include "troupe/transport/work.hpp"

namespace troupe::linked {

/// A collective in progress on one rank, whatever its steps are: the ranks count their collectives, and agree on what
/// each is.
class NumberedWork : public HostWork {
 public:
  NumberedWork(std::shared_ptr<RankState> state, const CallSignature& signature);
  ~NumberedWork() override { state_->forget(number_); }

  /// Sends what can be sent at once. Throws Aborted if the ranks are known not to agree.
  void begin();

  bool advance(std::size_t local) final;
  void listen(std::size_t local, ProgressListener listener) final;

 protected:
  RankState& state() const { return *state_; }
  const CallSignature& signature() const { return signature_; }
  Outgoing& outgoing() { return outgoing_; }
  Arrived& arrived() { return state_->arrived(number_); }
  bool is_complete() const { return done_; }

 private:
  // All with the lock of the rank's state held.
  virtual void begin_steps() = 0;
  /// Whether the collective is complete.
  virtual bool advance_steps() = 0;
  /// Drops the caller's tensors: the lender counts their handles.
  virtual void release() = 0;

  bool receive_and_advance();

  std::shared_ptr<RankState> state_;
  CallSignature signature_;
  Outgoing outgoing_;
  std::int64_t number_ = -1;
  bool done_ = false;
};

}  // namespace troupe::linked
