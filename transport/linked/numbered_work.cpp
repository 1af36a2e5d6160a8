#include "troupe/transport/linked/numbered_work.hpp"

#include "troupe/ops/core/error.hpp"

namespace troupe::linked {

namespace {

/// Returns a handle of `guard` for the frames of one work. When the last frame drops the handle and `awaited` is true,
/// the listeners of `state` are called, because the work may be complete.
std::shared_ptr<const PayloadGuard> held_by_frames(std::shared_ptr<PayloadGuard> guard,
                                                   std::shared_ptr<std::atomic<bool>> awaited,
                                                   std::weak_ptr<RankState> state) {
  const auto* address = guard.get();
  return {address, [guard = std::move(guard), awaited = std::move(awaited), state = std::move(state)](const auto*) {
            // Together with the fence in all_read(): either all_read() sees that the handle has expired, or `awaited`
            // is true here.
            std::atomic_thread_fence(std::memory_order_seq_cst);
            if (!awaited->load()) return;
            if (const auto alive = state.lock()) alive->notify();
          }};
}

}  // namespace

NumberedWork::~NumberedWork() {
  state_->forget(number_);
  guard_->withdraw();
}

void NumberedWork::begin() {
  const auto lock = state_->lock();
  number_ = state_->next_number();
  begin_steps();
  state_->receive();
  state_->check(number_);
  state_->expect_agreement(number_, signature_);
}

void NumberedWork::listen(std::size_t /*local*/, ProgressListener listener) {
  state_->listen(number_, std::move(listener));
}

bool NumberedWork::advance(std::size_t /*local*/) {
  if (done_) return true;
  const auto lock = state_->lock();
  try {
    state_->receive();
    state_->check(number_);
    state_->expect_agreement(number_, signature_);
    if (!advance_steps()) return false;
    done_ = true;
    state_->complete(number_);
    release();
    return true;
  } catch (const Aborted&) {
    throw;
  } catch (const PayloadWithdrawn&) {
    // A sender has withdrawn its payload because it has given the group up or is gone. If no link has failed yet, the
    // reason is on its way, and a later advance() throws it.
    for (const int rank : state_->others()) state_->expect_alive(rank);
    return false;
  } catch (...) {
    state_->abort(failure_now());
    throw;
  }
}

const IncomingPayload& NumberedWork::expect_chunk(const IncomingFrame& frame, int from, std::int64_t count) const {
  const auto expected = static_cast<std::size_t>(count) * size_of(signature_.dtype);
  if (frame.payload->bytes() != expected)
    throw Error("communicator", "rank " + std::to_string(from) + " sent a part of " +
                                    std::to_string(frame.payload->bytes()) + " bytes where " +
                                    std::to_string(expected) + " were expected");
  return *frame.payload;
}

void NumberedWork::send_ready(int to) {
  state_->send(to, {header_of(FrameType::collective_ready, signature_, number_, inputs)});
}

void NumberedWork::send(int to, Phase phase, const Tensor& payload) {
  auto held = unread_[to].lock();
  if (!held) unread_[to] = held = held_by_frames(guard_, awaited_, state_);
  state_->send(to, frame_of(phase, payload, std::move(held)));
}

void NumberedWork::send_unawaited(int to, Phase phase, const Tensor& payload) {
  state_->send(to, frame_of(phase, payload, guard_));
}

void NumberedWork::send_to_all(Phase phase, const Tensor& payload) {
  if (payload.bytes() > kStagedBytes) {
    for (const int to : state_->others()) send(to, phase, payload);
    return;
  }
  // The copy has a guard that the destructor does not withdraw, so it stays valid as long as a frame holds it, even if
  // the collective fails.
  const auto frame = frame_of(phase, payload.clone(), std::make_shared<PayloadGuard>());
  for (const int to : state_->others()) state_->send(to, frame);
}

Frame NumberedWork::frame_of(Phase phase, const Tensor& payload, std::shared_ptr<const PayloadGuard> guard) const {
  return {header_of(FrameType::collective_part, signature_, number_, phase), payload, number_, std::move(guard)};
}

bool NumberedWork::all_read() {
  awaited_->store(true);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  bool all_are_read = true;
  for (const int rank : state_->others()) {
    if (unread_[rank].expired()) continue;
    all_are_read = false;
    // A rank that has read its chunks may have closed its links: the collective is complete there.
    state_->expect_alive(rank);
  }
  // The fence orders the reads of other ranks before later writes to the tensors, which expired() alone does not.
  if (all_are_read) std::atomic_thread_fence(std::memory_order_acquire);
  return all_are_read;
}

}  // namespace troupe::linked
