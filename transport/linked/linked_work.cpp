#include "troupe/transport/linked/linked_work.hpp"

#include <algorithm>

namespace troupe::linked {

namespace {

/// Held by the frames of one work. When the last of them is gone and the work waits for that, it may be complete.
std::shared_ptr<const PayloadGuard> held_by_frames(std::shared_ptr<PayloadGuard> guard,
                                                   std::shared_ptr<std::atomic<bool>> awaited,
                                                   std::weak_ptr<RankState> state) {
  const auto* address = guard.get();
  return {address, [guard = std::move(guard), awaited = std::move(awaited), state = std::move(state)](const auto*) {
            if (!awaited->load()) return;
            if (const auto alive = state.lock()) alive->notify();
          }};
}

}  // namespace

LinkedWork::LinkedWork(std::shared_ptr<RankState> state, const CallSignature& signature, Steps steps)
    : state_(std::move(state)),
      signature_(signature),
      steps_(std::move(steps)),
      input_sent_(static_cast<std::size_t>(state_->ranks())),
      results_(static_cast<std::size_t>(state_->ranks())) {}

LinkedWork::~LinkedWork() {
  guard_->withdraw();
  state_->forget(number_);
}

void LinkedWork::begin(Communicator::OnProgress on_progress) {
  const auto lock = state_->lock();
  number_ = state_->next_number();
  state_->listen(number_, std::move(on_progress));
  bool large = false;
  auto& arrived = state_->arrived(number_);
  for (int other = 0; other < state_->ranks(); ++other) {
    const auto elements = steps_.elements_from(other);
    chunks_ = std::max(chunks_, chunks_of(elements));
    large = large ||
            elements * static_cast<std::int64_t>(size_of(signature_.dtype)) > static_cast<std::int64_t>(kEagerBytes);
  }
  arrived.most_parts = chunks_;
  for (int to = 0; large && to < state_->ranks(); ++to)
    if (to != state_->rank()) state_->send(to, {header_of(FrameType::collective_ready, signature_, number_, inputs)});
  send_inputs();
  state_->receive();
  check_signatures();
}

/// To all ranks that have room.
void LinkedWork::send_inputs() {
  const auto& ready = state_->arrived(number_).ready;
  for (int to = 0; to < state_->ranks(); ++to) {
    if (to == state_->rank() || input_sent_[to]) continue;
    const auto part = steps_.input_for(to);
    if (part.bytes() > kEagerBytes && !ready[to]) continue;
    input_sent_[to] = true;
    for (std::size_t chunk = 0; chunk < chunks_of(part.elements()); ++chunk)
      send(to, inputs, part_of(part, chunk_of(part.elements(), chunk)));
  }
}

bool LinkedWork::advance() {
  if (done_) return true;
  const auto lock = state_->lock();
  state_->receive();
  check_signatures();
  try {
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
      if (combined_ >= chunks_of(elements)) continue;
      const auto theirs = chunk_of(elements, combined_);
      if (theirs.count > chunk.count) chunk = theirs;
      if (from == state_->rank()) continue;
      if (parts[from].empty()) {
        wait_for(missing = from, Waiting::for_input);
        continue;
      }
      expect_chunk(parts[from].front(), from, theirs);
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
  for (int other = 0; other < state_->ranks(); ++other) {
    if (chunk_inputs[other] != nullptr) parts[other].pop_front();
    if (steps_.result && other != state_->rank()) send(other, results, part_of(steps_.result(), chunk));
  }
}

bool LinkedWork::take_results() {
  auto& parts = state_->arrived(number_).parts[results];
  int missing = -1;
  for (int from = 0; from < state_->ranks(); ++from) {
    if (from == state_->rank()) continue;
    const auto place = steps_.place_for(from);
    for (; results_[from] < chunks_of(place.elements()) && !parts[from].empty(); ++results_[from]) {
      const auto chunk = chunk_of(place.elements(), results_[from]);
      expect_chunk(parts[from].front(), from, chunk);
      const auto to = part_of(place, chunk);
      parts[from].front().payload->read(0, {to.mutable_raw(), to.bytes()});
      parts[from].pop_front();
    }
    if (missing < 0 && results_[from] < chunks_of(place.elements())) missing = from;
  }
  if (missing >= 0 && combined_ == chunks_) wait_for(missing, Waiting::for_result);
  return missing < 0;
}

/// Whether nobody reads this rank's tensors any more.
bool LinkedWork::all_read() {
  awaited_->store(true);
  if (unread_.expired()) return true;
  waiting_ = Waiting::for_reader;
  for (int rank = 0; rank < state_->ranks(); ++rank)
    if (rank != state_->rank()) state_->expect_alive(rank);
  return false;
}

void LinkedWork::send(int to, Phase phase, const Tensor& payload) {
  auto held = unread_.lock();
  if (!held) unread_ = held = held_by_frames(guard_, awaited_, state_);
  state_->send(to,
               {header_of(FrameType::collective_part, signature_, number_, phase), payload, number_, std::move(held)});
}

std::size_t LinkedWork::chunks_of(std::int64_t elements) const {
  const auto most = static_cast<std::int64_t>(kChunkBytes / size_of(signature_.dtype));
  return static_cast<std::size_t>(std::max<std::int64_t>(1, (elements + most - 1) / most));
}

Slice LinkedWork::chunk_of(std::int64_t elements, std::size_t number) const {
  const auto most = static_cast<std::int64_t>(kChunkBytes / size_of(signature_.dtype));
  const auto first = most * static_cast<std::int64_t>(number);
  return {first, std::min(most, elements - first)};
}

void LinkedWork::expect_chunk(const IncomingFrame& frame, int from, const Slice& chunk) {
  const auto wanted = static_cast<std::size_t>(chunk.count) * size_of(signature_.dtype);
  if (frame.payload->bytes() != wanted)
    throw Error("communicator", "rank " + std::to_string(from) + " sent a part of " +
                                    std::to_string(frame.payload->bytes()) + " bytes where " + std::to_string(wanted) +
                                    " were expected");
}

void LinkedWork::check_signatures() {
  const auto& arrived = state_->arrived(number_);
  for (int from = 0; from < state_->ranks(); ++from) {
    std::optional<FrameHeader> header = arrived.ready[from];
    if (!arrived.parts[inputs][from].empty()) header = arrived.parts[inputs][from].front().header;
    if (!header) continue;
    const auto theirs = signature_of(*header);
    if (theirs == signature_) continue;
    if (from < state_->rank())
      state_->give_up(disagreement(number_, theirs, from, signature_, state_->rank()));
    else
      state_->give_up(disagreement(number_, signature_, state_->rank(), theirs, from));
  }
}

}  // namespace troupe::linked
