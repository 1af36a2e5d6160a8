#include "troupe/transport/linked/outgoing.hpp"

#include "troupe/transport/linked/chunks.hpp"

namespace troupe::linked {

namespace {

/// Held by the frames of one work. When the last of them is gone and the work waits for that, it may be complete.
std::shared_ptr<const PayloadGuard> held_by_frames(std::shared_ptr<PayloadGuard> guard,
                                                   std::shared_ptr<std::atomic<bool>> awaited,
                                                   std::weak_ptr<RankState> state) {
  const auto* address = guard.get();
  return {address, [guard = std::move(guard), awaited = std::move(awaited), state = std::move(state)](const auto*) {
            // Its end and the look at it in all_read() must not miss each other.
            std::atomic_thread_fence(std::memory_order_seq_cst);
            if (!awaited->load()) return;
            if (const auto alive = state.lock()) alive->notify();
          }};
}

}  // namespace

void Outgoing::send_ready(int to) {
  state_->send(to, {header_of(FrameType::collective_ready, signature_, number_, inputs)});
}

void Outgoing::send(int to, Phase phase, const Tensor& payload) {
  auto held = unread_.lock();
  if (!held) unread_ = held = held_by_frames(guard_, awaited_, state_);
  state_->send(to, frame_of(phase, payload, std::move(held)));
}

void Outgoing::send_unawaited(int to, Phase phase, const Tensor& payload) {
  state_->send(to, frame_of(phase, payload, guard_));
}

void Outgoing::send_to_all(Phase phase, const Tensor& payload) {
  const bool copies = payload.bytes() <= kStagedBytes;
  // The copy is valid as long as a frame holds it, whatever becomes of the collective.
  const auto frame = copies ? frame_of(phase, payload.clone(), std::make_shared<PayloadGuard>()) : Frame{};
  for (const int to : state_->others()) {
    if (copies)
      state_->send(to, frame);
    else
      send(to, phase, payload);
  }
}

Frame Outgoing::frame_of(Phase phase, const Tensor& payload, std::shared_ptr<const PayloadGuard> guard) const {
  return {header_of(FrameType::collective_part, signature_, number_, phase), payload, number_, std::move(guard)};
}

bool Outgoing::all_read() {
  awaited_->store(true);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (unread_.expired()) {
    // The last holder of a frame has read it before the tensors are written again. expired() alone orders nothing.
    std::atomic_thread_fence(std::memory_order_acquire);
    return true;
  }
  for (int rank = 0; rank < state_->ranks(); ++rank)
    if (rank != state_->rank()) state_->expect_alive(rank);
  return false;
}

}  // namespace troupe::linked
