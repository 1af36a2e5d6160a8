#include "troupe/tests/emulated_cuda/stream.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <utility>

#include "troupe/tests/emulated_cuda/stream_thread.hpp"

namespace emulated_cuda {

namespace {

std::atomic<bool> process_ends{false};

void stop_all_streams() {
  process_ends = true;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  for (int i = 0; i < device_count(); ++i) {
    for (const auto& stream : device_at(i)->streams()) stream->stop(deadline);
  }
}

void stop_at_exit() {
  static const int registered = std::atexit(stop_all_streams);
  static_cast<void>(registered);
}

}  // namespace

bool is_process_ending() {
  return process_ends.load(std::memory_order_relaxed);
}

cudaError_t Stream::submit(Work work) {
  {
    std::lock_guard lock(mutex_);
    drop_ended_capture();
    if (capture_) {
      std::size_t index = 0;
      const cudaError_t error = capture_->add(std::move(work), dependencies_, index);
      if (error == cudaSuccess) dependencies_ = {index};
      return error;
    }
  }
  if (const cudaError_t error = follow_legacy()) return error;
  enqueue(std::move(work));
  return cudaSuccess;
}

cudaError_t Stream::follow_legacy() {
  if (kind_ == Kind::kNonBlocking) return cudaSuccess;
  if (kind_ == Kind::kBlocking) {
    if (const auto legacy = device_.legacy_stream_if_used()) follow(legacy);
    return cudaSuccess;
  }
  for (const auto& stream : device_.streams()) {
    if (stream->kind() != Kind::kBlocking) continue;
    if (const auto capture = stream->capture()) {
      capture->invalidate();
      return cudaErrorStreamCaptureImplicit;
    }
    follow(stream);
  }
  return cudaSuccess;
}

void Stream::follow(const std::shared_ptr<Stream>& other) {
  const std::uint64_t sequence_number = other->last_sequence_number();
  if (sequence_number > 0)
    enqueue({.run = [other, sequence_number] { other->wait_for(sequence_number); }, .always = true});
}

void Stream::enqueue(Work work) {
  std::lock_guard lock(mutex_);
  queue_.push_back(std::move(work));
  ++queued_;
  if (!has_thread_) {
    stop_at_exit();
    run_on_thread([self = shared_from_this()] { self->run(); });
    has_thread_ = true;
  }
  changed_.notify_all();
}

void Stream::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return !stopped_ && (closed_ || !queue_.empty()); });
    if (queue_.empty()) return;
    Work work = std::move(queue_.front());
    queue_.pop_front();
    is_running_ = true;
    lock.unlock();
    if (work.always || device_.fault() == cudaSuccess) work.run();
    work = {};
    lock.lock();
    is_running_ = false;
    ++done_;
    changed_.notify_all();
  }
}

std::uint64_t Stream::last_sequence_number() {
  std::lock_guard lock(mutex_);
  return queued_;
}

void Stream::wait_for(std::uint64_t sequence_number) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_ >= sequence_number; });
}

bool Stream::is_idle() {
  std::lock_guard lock(mutex_);
  return done_ == queued_;
}

void Stream::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void Stream::stop(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  stopped_ = true;
  changed_.wait_until(lock, deadline, [&] { return !is_running_; });
}

void Stream::drop_ended_capture() {
  if (capture_ && !capture_->is_open()) {
    capture_.reset();
    dependencies_.clear();
  }
}

std::shared_ptr<Capture> Stream::capture() {
  std::lock_guard lock(mutex_);
  drop_ended_capture();
  return capture_;
}

std::vector<std::size_t> Stream::dependencies() {
  std::lock_guard lock(mutex_);
  return dependencies_;
}

cudaError_t Stream::join(const std::shared_ptr<Capture>& capture, const std::vector<std::size_t>& nodes) {
  std::lock_guard lock(mutex_);
  drop_ended_capture();
  if (kind_ == Kind::kLegacy) {
    capture->invalidate();
    return cudaErrorStreamCaptureImplicit;
  }
  if (capture_ && capture_ != capture) {
    capture_->invalidate();
    capture->invalidate();
    return cudaErrorStreamCaptureMerge;
  }
  capture_ = capture;
  for (std::size_t node : nodes) {
    if (std::find(dependencies_.begin(), dependencies_.end(), node) == dependencies_.end()) {
      dependencies_.push_back(node);
    }
  }
  return cudaSuccess;
}

cudaError_t Stream::set_dependencies(std::vector<std::size_t> nodes) {
  std::lock_guard lock(mutex_);
  drop_ended_capture();
  if (!capture_) return cudaErrorIllegalState;
  for (std::size_t node : nodes) {
    if (node >= capture_->size()) return cudaErrorInvalidValue;
  }
  dependencies_ = std::move(nodes);
  return cudaSuccess;
}

std::shared_ptr<Stream> stream_of(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return current_device().legacy_stream();
  return handle->stream;
}

}  // namespace emulated_cuda
