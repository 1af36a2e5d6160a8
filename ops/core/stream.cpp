#include "troupe/ops/core/stream.hpp"

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

constexpr std::chrono::minutes kSyncLimit{10};

/// The state of an event that is done and has failed.
class FailedEvent final : public Event::State {
 public:
  explicit FailedEvent(std::exception_ptr error) : error_(std::move(error)) {}

  bool done() const override { return true; }
  std::exception_ptr error() const override { return error_; }
  bool wait_for(std::chrono::nanoseconds) override { return true; }
  void notify(std::function<void()> callback) override { callback(); }

 private:
  std::exception_ptr error_;
};

}  // namespace

void Event::wait() const {
  if (!wait_for(kSyncLimit))
    throw Error("event",
                "a device did not complete its work within " + std::to_string(kSyncLimit.count()) + " minutes");
}

bool Event::wait_for(std::chrono::nanoseconds limit) const {
  if (state_ == nullptr) return true;
  if (!state_->wait_for(limit)) return false;
  if (const auto error = state_->error()) std::rethrow_exception(error);
  return true;
}

void Event::notify(std::function<void()> callback) const {
  if (state_ == nullptr) return callback();
  state_->notify(std::move(callback));
}

Event failed_event(std::exception_ptr error) {
  return Event(std::make_shared<FailedEvent>(std::move(error)));
}

void Stream::refuse_capture() const {
  throw Error("stream", "work on " + to_string(device_) + " cannot be captured");
}

}  // namespace troupe
