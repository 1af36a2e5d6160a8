#include "troupe/transport/linked/ring_work.hpp"

#include "troupe/transport/linked/chunks.hpp"
#include "troupe/transport/linked/linked_sum.hpp"

namespace troupe::linked {

RingWork::RingWork(std::shared_ptr<RankState> state, const CallSignature& signature, Tensor tensor)
    : state_(std::move(state)),
      signature_(signature),
      tensor_(std::move(tensor)),
      outgoing_(state_, signature),
      next_((state_->rank() + 1) % state_->ranks()),
      previous_((state_->rank() + state_->ranks() - 1) % state_->ranks()),
      steps_(2 * (state_->ranks() - 1)) {}

void RingWork::begin(Communicator::OnProgress on_progress) {
  const auto lock = state_->lock();
  number_ = state_->next_number();
  outgoing_.begin(number_);
  state_->listen(number_, std::move(on_progress));
  auto& arrived = state_->arrived(number_);
  arrived.most_parts = 0;
  for (int step = 0; step < steps_; ++step)
    arrived.most_parts += chunks_of(slice(step + 1).elements(), signature_.dtype);
  if (steps_ > 0) outgoing_.send_ready(previous_);
  state_->receive();
  state_->expect_agreement(number_, signature_);
}

/// What this rank sends in step `step_back`; it takes in that step what it sends in the next.
Tensor RingWork::slice(int step_back) const {
  const auto ranks = state_->ranks();
  const auto which = ((state_->rank() - step_back) % ranks + ranks) % ranks;
  return part_of(tensor_, slice_of(tensor_.elements(), ranks, which));
}

bool RingWork::advance() {
  if (done_) return true;
  const auto lock = state_->lock();
  try {
    state_->receive();
    state_->expect_agreement(number_, signature_);
    return advance_steps();
  } catch (const Aborted&) {
    throw;
  } catch (const PayloadWithdrawn&) {
    // The reason is on its way, if it is not here.
    state_->expect_alive(previous_);
    return false;
  } catch (...) {
    state_->abort(failure_now());
    throw;
  }
}

bool RingWork::next_is_ready() {
  if (state_->arrived(number_).ready[next_]) return true;
  state_->expect_alive(next_);
  return false;
}

void RingWork::send_first() {
  if (first_sent_) return;
  first_sent_ = true;
  const auto own = slice(0);
  for (std::size_t chunk = 0; chunk < chunks_of(own.elements(), signature_.dtype); ++chunk)
    outgoing_.send(next_, inputs, part_of(own, chunk_of(own.elements(), signature_.dtype, chunk)));
}

bool RingWork::advance_steps() {
  if (steps_ > 0) {
    if (!next_is_ready()) return false;
    send_first();
    auto& parts = state_->arrived(number_).parts[inputs][previous_];
    while (step_ < steps_ && !parts.empty()) {
      const auto whole = slice(step_ + 1);
      const auto chunk = chunk_of(whole.elements(), signature_.dtype, chunk_);
      expect_chunk(parts.front(), previous_, chunk.count, signature_.dtype);
      take(*parts.front().payload, part_of(whole, chunk));
      parts.pop_front();
    }
    if (step_ < steps_) {
      state_->expect_alive(previous_);
      return false;
    }
    taken_all_ = true;
    if (!outgoing_.all_read()) return false;
  }
  done_ = true;
  state_->complete(number_);
  // Whoever lent the tensor counts its handles.
  tensor_ = {};
  return true;
}

/// Adds or copies a chunk, and passes it on.
void RingWork::take(const IncomingPayload& payload, const Tensor& to) {
  if (step_ < state_->ranks() - 1)
    sum({&payload, nullptr}, 1, to, to);
  else
    read(payload, to);
  if (step_ + 1 < steps_) outgoing_.send(next_, inputs, to);
  go_on();
}

void RingWork::go_on() {
  if (++chunk_ < chunks_of(slice(step_ + 1).elements(), signature_.dtype)) return;
  chunk_ = 0;
  ++step_;
}

std::string RingWork::waits_for() const {
  if (done_) return "nothing";
  if (taken_all_) return to_string(signature_) + ": rank " + std::to_string(next_) + " has not read its part";
  const auto whom = first_sent_ ? previous_ : next_;
  return to_string(signature_) + ": rank " + std::to_string(whom) +
         (first_sent_ ? " has not passed on its slice" : " has not come");
}

}  // namespace troupe::linked
