#include "troupe/transport/local/pending_collective.hpp"

namespace troupe::local {

void Abort::set(const std::string& reason) {
  std::lock_guard lock(mutex_);
  if (is_set()) return;
  reason_ = reason;
  set_.store(true, std::memory_order_release);
}

void Abort::check() const {
  if (!is_set()) return;
  std::lock_guard lock(mutex_);
  throw Error("communicator", reason_);
}

std::string to_string(const CallSignature& signature) {
  return signature.name + " of " + std::to_string(signature.elements) + " " + std::string(name_of(signature.dtype)) +
         (signature.name == "broadcast" ? " from rank " + std::to_string(signature.root) : "");
}

void Meeting::pass(int rank, Phase phase) {
  phases_passed_[rank].store(phase + 1, std::memory_order_relaxed);
  const auto before = passed_[phase].fetch_add(1, std::memory_order_acq_rel);
  if (before + 1 == static_cast<int>(inputs.size())) notify(rank);
}

int Meeting::missing(Phase phase) const {
  for (std::size_t rank = 0; rank < phases_passed_.size(); ++rank)
    if (phases_passed_[rank].load(std::memory_order_relaxed) <= phase) return static_cast<int>(rank);
  return -1;
}

void Meeting::notify(int but) const {
  for (std::size_t rank = 0; rank < listeners_.size(); ++rank)
    if (static_cast<int>(rank) != but && listeners_[rank]) listeners_[rank]();
}

}  // namespace troupe::local
