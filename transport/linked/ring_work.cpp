#include "troupe/transport/linked/ring_work.hpp"

#include "troupe/transport/linked/chunks.hpp"

namespace troupe::linked {

RingWork::RingWork(std::shared_ptr<RankState> rank_state, const CallSignature& call, Tensor tensor)
    : NumberedWork(std::move(rank_state), call),
      tensor_(std::move(tensor)),
      next_((state().rank() + 1) % state().ranks()),
      previous_((state().rank() + state().ranks() - 1) % state().ranks()),
      steps_(2 * (state().ranks() - 1)) {}

void RingWork::begin_steps() {
  auto& most_parts = arrived().most_parts;
  most_parts = 0;
  for (int step = 0; step < steps_; ++step) most_parts += chunks_of(slice(step + 1).elements(), signature().dtype);
  if (steps_ > 0) send_ready(previous_);
}

/// What this rank sends in step `step_back`; it takes in that step what it sends in the next.
Tensor RingWork::slice(int step_back) const {
  const auto ranks = state().ranks();
  const auto which = ((state().rank() - step_back) % ranks + ranks) % ranks;
  return part_of(tensor_, slice_of(tensor_.elements(), ranks, which));
}

bool RingWork::next_is_ready() {
  if (arrived().ready[next_]) return true;
  state().expect_alive(next_);
  return false;
}

void RingWork::send_first() {
  if (first_sent_) return;
  first_sent_ = true;
  const auto own = slice(0);
  for (std::size_t chunk = 0; chunk < chunks_of(own.elements(), signature().dtype); ++chunk)
    send(next_, inputs, part_of(own, chunk_of(own.elements(), signature().dtype, chunk)));
}

bool RingWork::advance_steps() {
  if (steps_ == 0) return true;
  if (!next_is_ready()) return false;
  send_first();
  auto& parts = arrived().parts[inputs][previous_];
  while (step_ < steps_ && !parts.empty()) {
    const auto whole = slice(step_ + 1);
    const auto chunk = chunk_of(whole.elements(), signature().dtype, chunk_);
    expect_chunk(parts.front(), previous_, chunk.count, signature().dtype);
    take(*parts.front().payload, part_of(whole, chunk));
    parts.pop_front();
  }
  if (step_ < steps_) {
    state().expect_alive(previous_);
    return false;
  }
  taken_all_ = true;
  return all_read();
}

/// Adds or copies a chunk, and passes it on.
void RingWork::take(const IncomingPayload& payload, const Tensor& to) {
  if (step_ < state().ranks() - 1)
    sum({&payload, nullptr}, 1, to, to);
  else
    read(payload, to);
  if (step_ + 1 < steps_) send(next_, inputs, to);
  go_on();
}

void RingWork::go_on() {
  if (++chunk_ < chunks_of(slice(step_ + 1).elements(), signature().dtype)) return;
  chunk_ = 0;
  ++step_;
}

std::string RingWork::waits_for(std::size_t /*local*/) const {
  if (is_complete()) return "nothing";
  if (taken_all_) return to_string(signature()) + ": rank " + std::to_string(next_) + " has not read its part";
  const auto whom = first_sent_ ? previous_ : next_;
  return to_string(signature()) + ": rank " + std::to_string(whom) +
         (first_sent_ ? " has not passed on its slice" : " has not come");
}

}  // namespace troupe::linked
