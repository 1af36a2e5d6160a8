#include "troupe/transport/local/collective_work.hpp"

#include <mutex>
#include <new>
#include <vector>

namespace troupe::local {

namespace {

/// Memory of works. Never destroyed: a work may be, at the very end of the program.
struct SpareWorks {
  std::mutex mutex;
  std::vector<void*> memory;
};

SpareWorks& spare_works() {
  static auto& spare = *new SpareWorks();
  return spare;
}

}  // namespace

void* CollectiveWork::operator new(std::size_t size) {
  auto& spare = spare_works();
  std::lock_guard lock(spare.mutex);
  if (spare.memory.empty()) return ::operator new(size);
  auto* const memory = spare.memory.back();
  spare.memory.pop_back();
  return memory;
}

void CollectiveWork::operator delete(void* memory) {
  auto& spare = spare_works();
  std::lock_guard lock(spare.mutex);
  spare.memory.push_back(memory);
}

CollectiveWork::CollectiveWork(std::shared_ptr<Group> group, std::shared_ptr<PendingCollective> pending, RankCall call,
                               Piece reduce, Piece copy)
    : group_(std::move(group)), pending_(std::move(pending)), call_(std::move(call)), pieces_{reduce, copy} {
  pending_->pass(call_.rank, PendingCollective::arrived);
}

CollectiveWork::~CollectiveWork() {
  // Otherwise the tensor was let go of when the collective completed, or others still need it.
  if (group_->failed(pending_->number)) {
    const std::unique_lock nobody_reads(pending_->reading);
    pending_->inputs[call_.rank] = Tensor();
  }
  group_->release(std::move(pending_));
}

bool CollectiveWork::advance() {
  const std::shared_lock reads(pending_->reading);
  group_->check(pending_->number);
  try {
    return advance_phases();
  } catch (...) {
    group_->abort(call_.rank, failure_now());
    throw;
  }
}

std::string CollectiveWork::waits_for() const {
  if (waiting_for_ == PendingCollective::kPhases) return "nothing";
  const char* const missing[] = {" has not come", " has not summed its slice", " has not copied the result"};
  const auto rank = pending_->missing(static_cast<PendingCollective::Phase>(waiting_for_));
  return to_string(pending_->signature) + ": rank " + std::to_string(rank) + missing[waiting_for_];
}

bool CollectiveWork::advance_phases() {
  for (; waiting_for_ < PendingCollective::kPhases; ++waiting_for_) {
    if (!pending_->complete(static_cast<PendingCollective::Phase>(waiting_for_))) return false;
    if (waiting_for_ == PendingCollective::copied) continue;
    if (const auto piece = pieces_[waiting_for_]) piece(call_, *pending_);
    pending_->pass(call_.rank, static_cast<PendingCollective::Phase>(waiting_for_ + 1));
  }
  // Nobody reads it any more, and whoever lent the tensor counts its handles.
  pending_->inputs[call_.rank] = Tensor();
  call_.input = call_.output = Tensor();
  group_->complete(*pending_);
  return true;
}

}  // namespace troupe::local
