#include "troupe/transport/linked/linked_work.hpp"

#include <algorithm>

#include "troupe/transport/linked/chunks.hpp"

namespace troupe::linked {

LinkedWork::LinkedWork(std::shared_ptr<RankState> state, const CallSignature& signature, Steps steps)
    : state_(std::move(state)),
      signature_(signature),
      steps_(std::move(steps)),
      outgoing_(state_, signature),
      input_sent_(static_cast<std::size_t>(state_->ranks())),
      results_(static_cast<std::size_t>(state_->ranks())) {}

LinkedWork::~LinkedWork() {
  state_->forget(number_);
}

void LinkedWork::begin(Communicator::OnProgress on_progress) {
  const auto lock = state_->lock();
  number_ = state_->next_number();
  outgoing_.begin(number_);
  state_->listen(number_, std::move(on_progress));
  bool large = false;
  auto& arrived = state_->arrived(number_);
  for (int other = 0; other < state_->ranks(); ++other) {
    const auto elements = steps_.elements_from(other);
    chunks_ = std::max(chunks_, chunks_of(elements, signature_.dtype));
    large = large ||
            elements * static_cast<std::int64_t>(size_of(signature_.dtype)) > static_cast<std::int64_t>(kEagerBytes);
  }
  arrived.most_parts = chunks_;
  if (large)
    for (const int to : state_->others()) outgoing_.send_ready(to);
  send_inputs();
  state_->receive();
  state_->expect_agreement(number_, signature_);
}

/// To all ranks that have room.
void LinkedWork::send_inputs() {
  const auto& ready = state_->arrived(number_).ready;
  for (const int to : state_->others()) {
    if (input_sent_[to]) continue;
    const auto part = steps_.input_for(to);
    if (part.bytes() > kEagerBytes && !ready[to]) continue;
    input_sent_[to] = true;
    for (std::size_t number = 0; number < chunks_of(part.elements(), signature_.dtype); ++number) {
      const auto chunk = part_of(part, chunk_of(part.elements(), signature_.dtype, number));
      // A rank that has sent a result has read what it was made of.
      if (steps_.result)
        outgoing_.send_unawaited(to, inputs, chunk);
      else
        outgoing_.send(to, inputs, chunk);
    }
  }
}

bool LinkedWork::advance() {
  if (done_) return true;
  const auto lock = state_->lock();
  try {
    state_->receive();
    state_->expect_agreement(number_, signature_);
    return advance_phases();
  } catch (const Aborted&) {
    throw;
  } catch (const PayloadWithdrawn&) {
    // The reason is on its way, if it is not here.
    for (int rank = 0; rank < state_->ranks(); ++rank)
      if (rank != state_->rank()) state_->expect_alive(rank);
    return false;
  } catch (...) {
    state_->abort(failure_now());
    throw;
  }
}

std::string LinkedWork::waits_for() const {
  const auto rank = "rank " + std::to_string(waiting_for_);
  switch (waiting_) {
    case Waiting::nothing:
      return "nothing";
    case Waiting::for_input:
      return to_string(signature_) + ": " + rank + " has not come";
    case Waiting::for_result:
      return to_string(signature_) + ": " + rank + " has not summed its slice";
    case Waiting::for_reader:
      return to_string(signature_) + ": another rank has not read its part";
  }
  return {};
}

void LinkedWork::wait_for(int rank, Waiting why) {
  state_->expect_alive(rank);
  waiting_for_ = rank;
  waiting_ = why;
}

bool LinkedWork::advance_phases() {
  send_inputs();
  const bool combined = combine_chunks();
  const bool taken = !steps_.result || take_results();
  if (!combined || !taken || !all_read()) return false;
  done_ = true;
  waiting_ = Waiting::nothing;
  state_->complete(number_);
  // Whoever lent the tensors counts their handles.
  steps_ = {};
  return true;
}

/// As many chunks as have come from all ranks.
bool LinkedWork::combine_chunks() {
  auto& parts = state_->arrived(number_).parts[inputs];
  for (; combined_ < chunks_; ++combined_) {
    Inputs chunk_inputs(parts.size());
    Slice chunk{};
    int missing = -1;
    for (int from = state_->ranks() - 1; from >= 0; --from) {
      const auto elements = steps_.elements_from(from);
      if (combined_ >= chunks_of(elements, signature_.dtype)) continue;
      const auto theirs = chunk_of(elements, signature_.dtype, combined_);
      if (theirs.count > chunk.count) chunk = theirs;
      if (from == state_->rank()) continue;
      if (parts[from].empty()) {
        wait_for(missing = from, Waiting::for_input);
        continue;
      }
      expect_chunk(parts[from].front(), from, theirs.count, signature_.dtype);
      chunk_inputs[from] = parts[from].front().payload.get();
    }
    if (missing >= 0) return false;
    combine(chunk, chunk_inputs);
  }
  return true;
}

void LinkedWork::combine(const Slice& chunk, const Inputs& chunk_inputs) {
  if (steps_.combine) steps_.combine(chunk, chunk_inputs);
  auto& parts = state_->arrived(number_).parts[inputs];
  for (int other = 0; other < state_->ranks(); ++other)
    if (chunk_inputs[other] != nullptr) parts[other].pop_front();
  if (steps_.result) outgoing_.send_to_all(results, part_of(steps_.result(), chunk));
}

bool LinkedWork::take_results() {
  auto& parts = state_->arrived(number_).parts[results];
  int missing = -1;
  for (int from = 0; from < state_->ranks(); ++from) {
    if (from == state_->rank()) continue;
    const auto place = steps_.place_for(from);
    for (; results_[from] < chunks_of(place.elements(), signature_.dtype) && !parts[from].empty(); ++results_[from]) {
      const auto chunk = chunk_of(place.elements(), signature_.dtype, results_[from]);
      expect_chunk(parts[from].front(), from, chunk.count, signature_.dtype);
      const auto to = part_of(place, chunk);
      parts[from].front().payload->read(0, {to.mutable_raw(), to.bytes()});
      parts[from].pop_front();
    }
    if (missing < 0 && results_[from] < chunks_of(place.elements(), signature_.dtype)) missing = from;
  }
  if (missing >= 0 && combined_ == chunks_) wait_for(missing, Waiting::for_result);
  return missing < 0;
}

/// Whether nobody reads this rank's tensors any more.
bool LinkedWork::all_read() {
  waiting_ = Waiting::for_reader;
  return outgoing_.all_read();
}

}  // namespace troupe::linked
