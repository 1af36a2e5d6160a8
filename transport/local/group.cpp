#include "troupe/transport/local/group.hpp"

#include <algorithm>

namespace troupe::local {

void PendingCollective::pass(int rank, Phase phase) {
  phases_passed_[rank].store(phase + 1, std::memory_order_relaxed);
  const auto before = passed_[phase].fetch_add(1, std::memory_order_acq_rel);
  if (before + 1 == static_cast<int>(inputs.size())) listeners.notify(static_cast<std::size_t>(rank));
}

int PendingCollective::missing(Phase phase) const {
  for (std::size_t rank = 0; rank < phases_passed_.size(); ++rank)
    if (phases_passed_[rank].load(std::memory_order_relaxed) <= phase) return static_cast<int>(rank);
  return -1;
}

void PendingCollective::reset() {
  std::ranges::fill(inputs, Tensor());
  listeners.clear();
  for (auto& passed : passed_) passed.store(0, std::memory_order_relaxed);
  for (auto& passed : phases_passed_) passed.store(0, std::memory_order_relaxed);
  completed = false;
}

/// Returns the pending collective with this number, or a new one, whose first_rank is kNoRank.
std::shared_ptr<PendingCollective> Group::find_or_make(std::int64_t number) {
  const auto entry = std::ranges::find(pending_, number, [](const auto& pending) { return pending->number; });
  if (entry != pending_.end()) return *entry;
  if (spare_.empty()) spare_.push_back(std::make_shared<PendingCollective>(ranks_));
  pending_.push_back(std::move(spare_.back()));
  spare_.pop_back();
  pending_.back()->number = number;
  pending_.back()->first_rank = kNoRank;
  return pending_.back();
}

std::shared_ptr<PendingCollective> Group::enter(int rank, const CallSignature& signature, const Tensor& input) {
  std::unique_lock lock(mutex_);
  const auto number = next_call_[rank];
  check(number);
  ++next_call_[rank];
  auto pending = find_or_make(number);
  if (pending->first_rank == kNoRank) {
    pending->signature = signature;
    pending->first_rank = rank;
  } else if (!(pending->signature == signature)) {
    const auto failure = disagreement(number, pending->signature, pending->first_rank, signature, rank);
    lock.unlock();
    abort(rank, failure);
    throw Aborted(failure);
  }
  pending->inputs[rank] = input;
  ++pending->works;
  return pending;
}

void Group::check(std::int64_t number) const {
  abort_.check();
  if (has_left(number)) throw Departed(left_.failure());
}

void Group::complete(PendingCollective& pending) {
  std::lock_guard lock(mutex_);
  pending.completed = true;
  std::erase_if(pending_, [&](const auto& other) { return other.get() == &pending; });
}

void Group::release(std::shared_ptr<PendingCollective> pending) {
  std::lock_guard lock(mutex_);
  if (--pending->works > 0 || !pending->completed) return;
  pending->reset();
  spare_.push_back(std::move(pending));
}

void Group::send(int from, int to, const Tensor& tensor) {
  abort_.check();
  auto copy = tensor.clone();
  ProgressListener receiver;
  {
    std::lock_guard lock(mutex_);
    const auto number = inboxes_[{from, to}].arrive(std::move(copy));
    if (const auto entry = receivers_.find({from, to, number}); entry != receivers_.end()) receiver = entry->second;
  }
  if (receiver) receiver();
}

Receive Group::post(int from, int to) {
  std::lock_guard lock(mutex_);
  return {from, to, inboxes_[{from, to}].post()};
}

void Group::listen(const Receive& receive, ProgressListener listener) {
  std::lock_guard lock(mutex_);
  receivers_[receive] = std::move(listener);
}

std::optional<Tensor> Group::take(const Receive& receive) {
  abort_.check();
  std::lock_guard lock(mutex_);
  auto sent = inboxes_[{receive.from, receive.to}].take(receive.number);
  if (!sent && ranks_that_left_.contains(receive.from)) throw Departed(left_.failure());
  return sent;
}

void Group::drop(const Receive& receive) {
  std::lock_guard lock(mutex_);
  receivers_.erase(receive);
  inboxes_[{receive.from, receive.to}].drop(receive.number);
}

void Group::abort(int except, FailurePtr failure) {
  abort_.set(std::move(failure));
  std::lock_guard lock(mutex_);
  for (const auto& pending : pending_) pending->listeners.notify(static_cast<std::size_t>(except));
  for (const auto& [receive, receiver] : receivers_)
    if (receiver && receive.to != except) receiver();
}

void Group::leave(int rank, FailurePtr failure) {
  left_.set(std::move(failure));
  std::lock_guard lock(mutex_);
  ranks_that_left_.insert(rank);
  const auto first = std::min(left_at_.load(), next_call_[rank]);
  left_at_.store(first, std::memory_order_release);
  for (const auto& pending : pending_)
    if (pending->number >= first) pending->listeners.notify();
  for (const auto& [receive, receiver] : receivers_)
    if (receiver && receive.from == rank) receiver();
}

}  // namespace troupe::local
