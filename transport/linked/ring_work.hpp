#pragma once

#include "troupe/transport/communicator.hpp"
#include "troupe/transport/linked/outgoing.hpp"

namespace troupe::linked {

/// An all-reduce in which slices go round the ring of ranks: in step s rank r sends slice r - s to rank r + 1, and
/// takes slice r - s - 1 from rank r - 1, all modulo N. In the first N - 1 steps it adds its own elements to what it
/// takes, after that it takes the sums. So slice i is ((r_i + r_{i+1}) + r_{i+2}) + ..., indices modulo N, on all
/// ranks. Source: P. Patarasuk, X. Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009.
class RingWork final : public Work {
 public:
  RingWork(std::shared_ptr<RankState> state, const CallSignature& signature, Tensor tensor);
  ~RingWork() override { state_->forget(number_); }

  /// Throws Aborted if the ranks are known not to agree.
  void begin(Communicator::OnProgress on_progress);

  bool advance() override;
  std::string waits_for() const override;

 private:
  bool advance_steps();
  bool next_is_ready();
  void send_first();
  void take(const IncomingPayload& payload, const Tensor& to);
  void go_on();
  Tensor slice(int step_back) const;

  std::shared_ptr<RankState> state_;
  CallSignature signature_;
  Tensor tensor_;
  Outgoing outgoing_;
  int next_, previous_, steps_;
  std::int64_t number_ = -1;
  bool first_sent_ = false;
  int step_ = 0;           // whose chunks are being taken
  std::size_t chunk_ = 0;  // the next of them
  bool done_ = false;
  bool taken_all_ = false;  // and only waits for its reader
};

}  // namespace troupe::linked
