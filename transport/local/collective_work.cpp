#include "troupe/transport/local/collective_work.hpp"

namespace troupe::local {

CollectiveWork::CollectiveWork(std::shared_ptr<Group> group, std::shared_ptr<PendingCollective> pending, int rank,
                               Piece reduce, Piece copy)
    : group_(std::move(group)), pending_(std::move(pending)), rank_(rank), pieces_{std::move(reduce), std::move(copy)} {
  pending_->pass(rank_, PendingCollective::arrived);
}

CollectiveWork::~CollectiveWork() {
  // Otherwise the tensor was let go of when the collective completed, or others still need it.
  if (!group_->failed(pending_->number)) return;
  const std::unique_lock nobody_reads(pending_->reading);
  pending_->inputs[rank_] = Tensor();
}

bool CollectiveWork::advance() {
  const std::shared_lock reads(pending_->reading);
  group_->check(pending_->number);
  try {
    return advance_phases();
  } catch (...) {
    group_->abort(rank_, failure_now());
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
    if (const auto& piece = pieces_[waiting_for_]) piece(*pending_);
    pending_->pass(rank_, static_cast<PendingCollective::Phase>(waiting_for_ + 1));
  }
  // Nobody reads it any more, and whoever lent the tensor counts its handles.
  pending_->inputs[rank_] = Tensor();
  group_->complete(pending_->number);
  return true;
}

}  // namespace troupe::local
