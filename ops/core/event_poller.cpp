#include "troupe/ops/core/event_poller.hpp"

#include <algorithm>

#include "troupe/ops/core/signals_blocked.hpp"

namespace troupe {

namespace {

// The poller's thread polls its events without a pause until none of them has become done for kBusy, about the time of
// a short training step on a GPU. From then on it sleeps for at most kRest between two polls, until an event is done.
constexpr std::chrono::microseconds kBusy{200}, kRest{20};

}  // namespace

EventPoller::~EventPoller() {
  end(std::chrono::nanoseconds::zero());
  if (thread_.joinable()) thread_.join();
}

bool EventPoller::end(std::chrono::nanoseconds limit) {
  std::unique_lock lock(mutex_);
  ending_ = true;
  changed_.notify_all();
  if (!changed_.wait_for(lock, limit, [this] { return !working_; })) return false;
  lock.unlock();
  if (thread_.joinable()) thread_.join();
  return true;
}

void EventPoller::watch(std::shared_ptr<Event::State> event, std::function<void()> callback) {
  std::lock_guard lock(mutex_);
  if (ending_) return;
  if (!thread_.joinable()) {
    const SignalsBlocked blocked;
    thread_ = std::thread([this] { work(); });
  }
  working_ = true;
  added_.push_back({std::move(event), {std::move(callback)}});
  changed_.notify_all();
}

void EventPoller::take_added(std::unique_lock<std::mutex>& lock, bool idle) {
  if (idle) changed_.wait(lock, [this] { return ending_ || !added_.empty(); });
  // All callbacks of one event share an entry, so that each event is polled once: a poll may cost a microsecond.
  for (auto& entry : added_) {
    const auto same_event = std::ranges::find(watched_, entry.event, &Watched::event);
    if (same_event == watched_.end())
      watched_.push_back(std::move(entry));
    else
      same_event->callbacks.push_back(std::move(entry.callbacks.front()));
  }
  added_.clear();
}

void EventPoller::work() {
  auto last_progress = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  while (!ending_) {
    take_added(lock, watched_.empty());
    lock.unlock();
    const auto waiting = std::stable_partition(watched_.begin(), watched_.end(),
                                               [](const Watched& entry) { return entry.event->done(); });
    const bool progress = waiting != watched_.begin();
    for (auto entry = watched_.begin(); entry != waiting; ++entry)
      for (const auto& callback : entry->callbacks) callback();
    watched_.erase(watched_.begin(), waiting);
    const auto now = std::chrono::steady_clock::now();
    if (progress) last_progress = now;
    lock.lock();
    if (!watched_.empty() && now - last_progress > kBusy)
      changed_.wait_for(lock, kRest, [this] { return ending_ || !added_.empty(); });
  }
  working_ = false;
  changed_.notify_all();
}

}  // namespace troupe
