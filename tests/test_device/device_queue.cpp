#include "troupe/tests/test_device/device_queue.hpp"

#include <algorithm>

#include "troupe/ops/core/random.hpp"

namespace troupe::testing {

bool QueueEvent::done() const {
  std::lock_guard lock(mutex_);
  return done_;
}

std::exception_ptr QueueEvent::error() const {
  std::lock_guard lock(mutex_);
  return error_;
}

bool QueueEvent::wait_for(std::chrono::nanoseconds limit) {
  std::unique_lock lock(mutex_);
  return completed_.wait_for(lock, limit, [&] { return done_; });
}

void QueueEvent::notify(std::function<void()> callback) {
  {
    std::lock_guard lock(mutex_);
    if (!done_) {
      callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback();
}

void QueueEvent::complete(std::exception_ptr error) {
  std::vector<std::function<void()>> callbacks;
  {
    std::lock_guard lock(mutex_);
    done_ = true;
    completed_at_ = std::chrono::steady_clock::now();
    error_ = std::move(error);
    callbacks.swap(callbacks_);
  }
  completed_.notify_all();
  for (const auto& callback : callbacks) callback();
}

std::optional<std::chrono::nanoseconds> QueueEvent::time_since(const State& earlier) const {
  return completed_at_ - dynamic_cast<const QueueEvent&>(earlier).completed_at_;
}

DeviceQueue::DeviceQueue() : thread_([this] { work(); }) {}

DeviceQueue::~DeviceQueue() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::shared_ptr<DeviceQueue::Stream> DeviceQueue::open(Device device) {
  std::lock_guard lock(mutex_);
  return streams_.emplace_back(std::make_shared<Stream>(device));
}

void DeviceQueue::close(Stream& stream) {
  std::lock_guard lock(mutex_);
  stream.closed = true;
  changed_.notify_all();
}

void DeviceQueue::push(Stream& stream, Stream::Piece piece) {
  stream.pieces.push_back(std::move(piece));
  changed_.notify_all();
}

void DeviceQueue::launch(Stream& stream, std::function<void()> work) {
  std::lock_guard lock(mutex_);
  push(stream, {std::move(work), {}, nullptr});
}

void DeviceQueue::wait(Stream& stream, const Event& event) {
  if (event.state() == nullptr) return;
  // An event of another kind of device completes on another thread.
  event.notify([this] {
    std::lock_guard lock(mutex_);
    changed_.notify_all();
  });
  std::lock_guard lock(mutex_);
  push(stream, {nullptr, event, nullptr});
  ++events_;
}

Event DeviceQueue::record(Stream& stream) {
  const auto reached = std::make_shared<QueueEvent>();
  std::lock_guard lock(mutex_);
  push(stream, {nullptr, {}, reached});
  ++events_;
  return Event(reached);
}

std::exception_ptr DeviceQueue::error(const Stream& stream) const {
  std::lock_guard lock(mutex_);
  return stream.error;
}

std::size_t DeviceQueue::events() const {
  std::lock_guard lock(mutex_);
  return events_;
}

std::vector<Event> DeviceQueue::record_all(const Device* device) {
  std::vector<Event> events;
  std::lock_guard lock(mutex_);
  for (const auto& stream : streams_) {
    if (stream->pieces.empty() || (device != nullptr && stream->device != *device)) continue;
    const auto reached = std::make_shared<QueueEvent>();
    push(*stream, {nullptr, {}, reached});
    events.emplace_back(reached);
  }
  return events;
}

void DeviceQueue::hold() {
  std::unique_lock lock(mutex_);
  const auto idle = [](const auto& stream) { return stream->pieces.empty(); };
  if (holds_ == 0) changed_.wait(lock, [&] { return std::ranges::all_of(streams_, idle); });
  ++holds_;
}

void DeviceQueue::resume(std::uint64_t seed) {
  std::lock_guard lock(mutex_);
  --holds_;
  seed_ = seed;
  drawn_ = 0;
  changed_.notify_all();
}

bool DeviceQueue::wait_until_queued(std::size_t pieces, std::chrono::nanoseconds limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [&] {
    std::size_t queued = 0;
    for (const auto& stream : streams_) queued += stream->pieces.size();
    return queued >= pieces;
  });
}

void DeviceQueue::delay(int change) {
  std::lock_guard lock(mutex_);
  delays_ += change;
  changed_.notify_all();
}

std::vector<std::shared_ptr<DeviceQueue::Stream>> DeviceQueue::ready() const {
  std::vector<std::shared_ptr<Stream>> streams;
  for (const auto& stream : streams_)
    if (!stream->pieces.empty() && stream->pieces.front().after.done()) streams.push_back(stream);
  return streams;
}

void DeviceQueue::run_one(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Stream>& stream) {
  // The piece stays in front while it runs, so that later records come after it.
  auto& piece = stream->pieces.front();
  if (stream->error == nullptr) stream->error = piece.after.error();
  auto error = stream->error;
  auto run = std::move(piece.run);
  const auto reached = piece.reached;
  const auto late = std::chrono::microseconds(delays_ > 0 ? uniform_below(100, seed_, 1, drawn_) : 0);
  // Runs late, so that a reader that does not wait for the event is detected. The device catches up once delays end.
  changed_.wait_for(lock, late, [&] { return delays_ == 0; });
  lock.unlock();
  try {
    if (run && error == nullptr) run();
  } catch (...) {
    error = std::current_exception();
  }
  if (reached != nullptr) reached->complete(error);
  run = nullptr;  // its captures may free memory of the devices, for which the queue must not be locked
  lock.lock();
  stream->error = error;
  stream->pieces.pop_front();
  changed_.notify_all();
}

void DeviceQueue::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    streams_.remove_if([](const auto& stream) { return stream->closed && stream->pieces.empty(); });
    const auto streams = holds_ > 0 ? std::vector<std::shared_ptr<Stream>>{} : ready();
    if (!streams.empty())
      run_one(lock, streams[uniform_below(streams.size(), seed_, 0, drawn_++)]);
    else if (ending_)
      return;
    else
      changed_.wait(lock);
  }
}

}  // namespace troupe::testing
