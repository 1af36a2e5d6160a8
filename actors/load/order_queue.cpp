#include "troupe/actors/load/order_queue.hpp"

#include <utility>

namespace troupe {

void OrderQueue::add(std::function<void()> order) {
  std::lock_guard lock(mutex_);
  orders_.push_back(std::move(order));
}

std::exception_ptr OrderQueue::say_all() {
  std::exception_ptr error;
  std::unique_lock lock(mutex_);
  if (speaker_ != std::thread::id{}) return error;
  speaker_ = std::this_thread::get_id();
  while (!orders_.empty()) {
    auto order = std::move(orders_.front());
    orders_.pop_front();
    lock.unlock();
    try {
      order();
    } catch (...) {
      if (!error) error = std::current_exception();
    }
    order = nullptr;  // what it holds may go with it, and call back too
    lock.lock();
  }
  speaker_ = {};
  changed_.notify_all();
  return error;
}

void OrderQueue::wait_until_said(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  if (speaker_ == std::this_thread::get_id()) return;
  changed_.wait_for(lock, limit, [this] { return orders_.empty() && speaker_ == std::thread::id{}; });
}

}  // namespace troupe
