#include "troupe/actors/load/order_queue.hpp"

#include <utility>

namespace troupe {

void OrderQueue::add(std::function<void()> callback) {
  std::lock_guard lock(mutex_);
  callbacks_.push_back(std::move(callback));
}

std::exception_ptr OrderQueue::run_all() {
  std::exception_ptr error;
  std::unique_lock lock(mutex_);
  if (runner_ != std::thread::id{}) return error;
  runner_ = std::this_thread::get_id();
  while (!callbacks_.empty()) {
    auto callback = std::move(callbacks_.front());
    callbacks_.pop_front();
    lock.unlock();
    try {
      callback();
    } catch (...) {
      if (!error) error = std::current_exception();
    }
    callback = nullptr;  // without the lock: destroying its captures may call this queue
    lock.lock();
  }
  runner_ = {};
  changed_.notify_all();
  return error;
}

void OrderQueue::wait_until_run(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  if (runner_ == std::this_thread::get_id()) return;
  changed_.wait_for(lock, limit, [this] { return callbacks_.empty() && runner_ == std::thread::id{}; });
}

}  // namespace troupe
