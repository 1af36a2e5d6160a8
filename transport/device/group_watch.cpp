#include "troupe/transport/device/group_watch.hpp"

#include <algorithm>
#include <utility>

#include "troupe/ops/core/signals_blocked.hpp"

namespace troupe::device {

GroupWatch::GroupWatch(std::chrono::milliseconds limit, Hooks hooks)
    : limit_(limit),
      interval_(std::clamp(limit / 8, std::chrono::milliseconds(1), std::chrono::milliseconds(1'000))),
      hooks_(std::move(hooks)) {
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { work(); });
}

GroupWatch::~GroupWatch() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void GroupWatch::add(std::shared_ptr<const Watched> collective) {
  std::lock_guard lock(mutex_);
  if (abort_.is_set()) return;
  drop_done();
  pending_.push_back(std::move(collective));
  if (!std::exchange(watching_, true)) changed_.notify_all();
}

FailurePtr GroupWatch::failure() {
  if (!abort_.is_set() && hooks_.look)
    if (const auto failure = hooks_.look()) fail(failure);
  return abort_.failure();
}

bool GroupWatch::end(FailurePtr failure) {
  const bool first = abort_.set(std::move(failure));
  std::deque<std::shared_ptr<const Watched>> dropped;
  std::lock_guard lock(mutex_);
  dropped.swap(pending_);
  return first;
}

void GroupWatch::fail(FailurePtr failure) {
  if (!end(failure)) return;
  {
    std::lock_guard lock(mutex_);
    to_tell_ = std::move(failure);
  }
  changed_.notify_all();
}

void GroupWatch::on_failed(Communicator::OnFailed callback) {
  std::lock_guard lock(callback_mutex_);
  callback_ = std::move(callback);
}

void GroupWatch::work() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (to_tell_ != nullptr) {
      tell(lock);
      continue;
    }
    if (watching_)
      changed_.wait_for(lock, interval_, [&] { return ending_ || to_tell_ != nullptr; });
    else
      changed_.wait(lock, [&] { return ending_ || to_tell_ != nullptr || watching_; });
    if (ending_ || to_tell_ != nullptr) continue;
    auto failure = look_at_first();
    watching_ = !pending_.empty();
    lock.unlock();
    if (failure == nullptr && hooks_.look) failure = hooks_.look();
    if (failure != nullptr) fail(failure);
    lock.lock();
  }
}

void GroupWatch::drop_done() {
  while (!pending_.empty() && pending_.front()->is_done()) {
    pending_.pop_front();
    begun_.reset();
  }
}

FailurePtr GroupWatch::look_at_first() {
  drop_done();
  if (pending_.empty() || !pending_.front()->has_begun()) return nullptr;
  const auto now = Clock::now();
  if (!begun_) begun_ = now;
  if (now - *begun_ < limit_) return nullptr;
  return std::make_shared<Failure>(Failure{.kind = FailureKind::stalled,
                                           .what = "[communicator] not complete after " +
                                                   std::to_string(limit_.count()) +
                                                   " ms: " + pending_.front()->description()});
}

void GroupWatch::tell(std::unique_lock<std::mutex>& lock) {
  const auto failure = std::exchange(to_tell_, nullptr);
  lock.unlock();
  {
    std::lock_guard callback_lock(callback_mutex_);
    if (callback_) callback_(failure);
  }
  if (hooks_.release) hooks_.release(failure);
  lock.lock();
}

}  // namespace troupe::device
