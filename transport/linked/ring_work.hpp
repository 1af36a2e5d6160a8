#pragma once

#include "troupe/transport/linked/numbered_work.hpp"

namespace troupe::linked {

/// An all-reduce in which slices go round the ring of ranks: in step s rank r sends slice r - s to rank r + 1, and
/// takes slice r - s - 1 from rank r - 1, all modulo N. In the first N - 1 steps it adds its own elements to what it
/// takes, after that it takes the sums. So slice i is ((r_i + r_{i+1}) + r_{i+2}) + ..., indices modulo N, on all
/// ranks. Source: P. Patarasuk, X. Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009.
class RingWork final : public NumberedWork {
 public:
  RingWork(std::shared_ptr<RankState> state, const CallSignature& signature, Tensor tensor);
  std::string waits_for(std::size_t local) const override;

 private:
  void begin_steps() override;
  bool advance_steps() override;
  void release() override { tensor_ = {}; }
  bool next_is_ready();
  void send_first();
  void take(const IncomingPayload& payload, const Tensor& to);
  void go_on();
  Tensor slice(int step_back) const;

  Tensor tensor_;
  int next_, previous_, steps_;
  bool first_sent_ = false;
  int step_ = 0;            // whose chunks are being taken
  std::size_t chunk_ = 0;   // the next of them
  bool taken_all_ = false;  // and only waits for its reader
};

}  // namespace troupe::linked
