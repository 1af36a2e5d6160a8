#include "troupe/transport/local/group.hpp"

#include <algorithm>

namespace troupe::local {

std::shared_ptr<PendingCollective> Group::enter(int rank, const CallSignature& signature, const Tensor& input,
                                                Listener listener) {
  std::unique_lock lock(mutex_);
  const auto number = next_call_[rank];
  check(number);
  ++next_call_[rank];
  auto& pending = pending_[number];
  if (!pending) {
    pending = std::make_shared<PendingCollective>(ranks_);
    pending->number = number;
    pending->signature = signature;
    pending->first_rank = rank;
  } else if (!(pending->signature == signature)) {
    const auto failure = disagreement(number, pending->signature, pending->first_rank, signature, rank);
    lock.unlock();
    abort(rank, failure);
    throw Aborted(failure);
  }
  auto entered = pending;
  entered->inputs[rank] = input;
  entered->listen(rank, std::move(listener));
  return entered;
}

void Group::check(std::int64_t number) const {
  abort_.check();
  if (has_left(number)) left_.check();
}

void Group::complete(std::int64_t number) {
  std::lock_guard lock(mutex_);
  pending_.erase(number);
}

void Group::send(int from, int to, const Tensor& tensor) {
  abort_.check();
  auto copy = tensor.clone();
  Listener receiver;
  {
    std::lock_guard lock(mutex_);
    const auto number = inboxes_[{from, to}].arrive(std::move(copy));
    if (const auto found = receivers_.find({from, to, number}); found != receivers_.end()) receiver = found->second;
  }
  if (receiver) receiver();
}

Receive Group::post(int from, int to, Listener listener) {
  std::lock_guard lock(mutex_);
  const Receive receive{from, to, inboxes_[{from, to}].post()};
  receivers_[receive] = std::move(listener);
  return receive;
}

std::optional<Tensor> Group::take(const Receive& receive) {
  abort_.check();
  std::lock_guard lock(mutex_);
  auto sent = inboxes_[{receive.from, receive.to}].take(receive.number);
  if (!sent && ranks_that_left_.contains(receive.from)) left_.check();
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
  for (const auto& [number, pending] : pending_) pending->notify(except);
  for (const auto& [receive, receiver] : receivers_)
    if (receiver && receive.to != except) receiver();
}

void Group::leave(int rank, FailurePtr failure) {
  left_.set(std::move(failure));
  std::lock_guard lock(mutex_);
  ranks_that_left_.insert(rank);
  const auto first = std::min(left_at_.load(), next_call_[rank]);
  left_at_.store(first, std::memory_order_release);
  for (const auto& [number, pending] : pending_)
    if (number >= first) pending->notify(kNobody);
  for (const auto& [receive, receiver] : receivers_)
    if (receiver && receive.from == rank) receiver();
}

}  // namespace troupe::local
