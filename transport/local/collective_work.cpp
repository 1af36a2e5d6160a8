#include "troupe/transport/local/collective_work.hpp"

#include <mutex>

namespace troupe::local {

CollectiveWork::CollectiveWork(std::shared_ptr<Group> group, std::shared_ptr<PendingCollective> pending, RankCall call,
                               const Pieces& pieces)
    : group_(std::move(group)),
      pending_(std::move(pending)),
      call_(std::move(call)),
      pieces_{pieces.reduce, pieces.copy} {
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

bool CollectiveWork::advance(std::size_t /*local*/) {
  const std::shared_lock reads(pending_->reading);
  group_->check(pending_->number);
  try {
    return advance_phases();
  } catch (...) {
    group_->abort(call_.rank, failure_now());
    throw;
  }
}

void CollectiveWork::listen(std::size_t /*local*/, ProgressListener listener) {
  pending_->listen(call_.rank, std::move(listener));
}

std::string CollectiveWork::waits_for(std::size_t /*local*/) const {
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
  // No rank reads it any more, and the lender of the tensor counts its handles.
  pending_->inputs[call_.rank] = Tensor();
  call_.input = call_.output = Tensor();
  group_->complete(*pending_);
  return true;
}

}  // namespace troupe::local
