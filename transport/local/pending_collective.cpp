#include "troupe/transport/local/pending_collective.hpp"

#include <algorithm>

namespace troupe::local {

void PendingCollective::pass(int rank, Phase phase) {
  phases_passed_[rank].store(phase + 1, std::memory_order_relaxed);
  const auto before = passed_[phase].fetch_add(1, std::memory_order_acq_rel);
  if (before + 1 == static_cast<int>(inputs.size())) notify(rank);
}

int PendingCollective::missing(Phase phase) const {
  for (std::size_t rank = 0; rank < phases_passed_.size(); ++rank)
    if (phases_passed_[rank].load(std::memory_order_relaxed) <= phase) return static_cast<int>(rank);
  return -1;
}

void PendingCollective::reset() {
  std::fill(inputs.begin(), inputs.end(), Tensor());
  listeners_.clear();
  for (auto& passed : passed_) passed.store(0, std::memory_order_relaxed);
  for (auto& passed : phases_passed_) passed.store(0, std::memory_order_relaxed);
  completed = false;
}

}  // namespace troupe::local
