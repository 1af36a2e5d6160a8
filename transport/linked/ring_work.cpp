#include "troupe/transport/linked/linked_work.hpp"
#include "troupe/transport/linked/numbered_work.hpp"

namespace troupe::linked {

namespace {

/// The work of one rank in the all_reduce that begin_ring() begins: slices go round a ring of the ranks.
class RingWork final : public NumberedWork {
 public:
  RingWork(std::shared_ptr<RankState> rank_state, const CallSignature& call, Tensor tensor)
      : NumberedWork(std::move(rank_state), call),
        tensor_(std::move(tensor)),
        next_((state().rank() + 1) % state().ranks()),
        previous_((state().rank() + state().ranks() - 1) % state().ranks()),
        steps_(2 * (state().ranks() - 1)) {}

  std::string waits_for(std::size_t /*local*/) const override {
    if (is_complete()) return "nothing";
    if (taken_all_) return to_string(signature()) + ": rank " + std::to_string(next_) + " has not read its part";
    const auto other = first_sent_ ? previous_ : next_;
    return to_string(signature()) + ": rank " + std::to_string(other) +
           (first_sent_ ? " has not passed on its slice" : " has not come");
  }

 private:
  void begin_steps() override {
    auto& most_parts = arrived().most_parts;
    most_parts = 0;
    for (int step = 0; step < steps_; ++step) most_parts += chunks_of(slice(step + 1).elements());
    if (steps_ > 0) send_ready(previous_);
  }

  bool advance_steps() override {
    if (steps_ == 0) return true;
    if (!next_is_ready()) return false;
    send_first();
    auto& parts = arrived().parts[inputs][previous_];
    while (step_ < steps_ && !parts.empty()) {
      const auto whole = slice(step_ + 1);
      const auto chunk = chunk_of(whole.elements(), chunk_);
      take(expect_chunk(parts.front(), previous_, chunk.count), part_of(whole, chunk));
      parts.pop_front();
    }
    if (step_ < steps_) {
      state().expect_alive(previous_);
      return false;
    }
    taken_all_ = true;
    return all_read();
  }

  void release() override { tensor_ = {}; }

  /// Returns the slice of tensor_ that this rank sends in step `step_back`. In that step it takes the slice that it
  /// sends in the next step, slice(step_back + 1).
  Tensor slice(int step_back) const {
    const auto ranks = state().ranks();
    const auto number = ((state().rank() - step_back) % ranks + ranks) % ranks;
    return part_of(tensor_, slice_of(tensor_.elements(), ranks, number));
  }

  bool next_is_ready() {
    if (arrived().ready[next_]) return true;
    state().expect_alive(next_);
    return false;
  }

  void send_first() {
    if (first_sent_) return;
    first_sent_ = true;
    const auto first_slice = slice(0);
    for (std::size_t chunk = 0; chunk < chunks_of(first_slice.elements()); ++chunk)
      send(next_, inputs, part_of(first_slice, chunk_of(first_slice.elements(), chunk)));
  }

  /// Takes a chunk of step `step_`: adds it to this rank's elements or, in the second half of the steps, copies it.
  /// Then sends the result to the next rank, unless the step is the last.
  void take(const IncomingPayload& payload, const Tensor& to) {
    if (step_ < state().ranks() - 1)
      sum({&payload, nullptr}, 1, to, to);
    else
      read(payload, to);
    if (step_ + 1 < steps_) send(next_, inputs, to);
    if (++chunk_ < chunks_of(slice(step_ + 1).elements())) return;
    chunk_ = 0;
    ++step_;
  }

  Tensor tensor_;
  int next_, previous_, steps_;
  bool first_sent_ = false;
  int step_ = 0;            // the step whose chunks are being taken
  std::size_t chunk_ = 0;   // the next chunk of the step
  bool taken_all_ = false;  // all steps are done, but rank next_ may not have read all chunks
};

}  // namespace

std::shared_ptr<Work> begin_ring(std::shared_ptr<RankState> state, const CallSignature& signature, Tensor tensor) {
  auto work = std::make_shared<RingWork>(std::move(state), signature, std::move(tensor));
  work->begin();
  return work;
}

}  // namespace troupe::linked
