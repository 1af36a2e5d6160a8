#include "troupe/ops/core/stream.hpp"

namespace troupe {

void Event::wait() const {
  while (!wait_for(std::chrono::hours(1))) {
  }
}

bool Event::wait_for(std::chrono::nanoseconds limit) const {
  if (state_ == nullptr) return true;
  if (!state_->wait_for(limit)) return false;
  if (const auto error = state_->error()) std::rethrow_exception(error);
  return true;
}

void Event::notify(std::function<void()> callback) const {
  if (state_ == nullptr)
    callback();
  else
    state_->notify(std::move(callback));
}

}  // namespace troupe
