#include "troupe/ops/cuda/device/event.hpp"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/event_poller.hpp"

namespace troupe::cuda {

namespace {

/// A waiting thread polls without a pause for kBusy, then with pauses of kRest.
constexpr std::chrono::microseconds kBusy{50}, kRest{20};

/// The longest time that the exit of the process waits for a callback that is running.
constexpr std::chrono::seconds kLongestCallback{1};

/// Returns the process's poller: a thread that polls the events of all devices and runs their host callbacks. The
/// poller is never destroyed. An exit handler ends it, because no CUDA function may be called while the process unloads
/// CUDA. CUDA registers its own exit handlers when it is first used, before the first event exists. Exit handlers run
/// in reverse order, so the poller ends before CUDA is unloaded.
EventPoller& event_poller() {
  static auto& poller = []() -> EventPoller& {
    std::atexit([] { event_poller().end(kLongestCallback); });
    return *new EventPoller;
  }();
  return poller;
}

}  // namespace

void RecentOps::add(const char* op) {
  std::lock_guard lock(mutex_);
  ops_[count_++ % kKept] = op;
}

std::string RecentOps::names() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> unique_names;
  for (auto number = count_ - std::min(count_, kKept); number < count_; ++number) {
    std::string name = ops_[number % kKept];
    if (std::ranges::find(unique_names, name) == unique_names.end()) unique_names.push_back(std::move(name));
  }
  std::string text;
  for (const auto& name : unique_names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

cudaEvent_t EventPool::take() {
  {
    std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      auto* event = spare_.back();
      spare_.pop_back();
      return event;
    }
  }
  const CurrentDevice current(device_);
  cudaEvent_t event = nullptr;
  const auto flags = times_ == Times::with ? cudaEventDefault : cudaEventDisableTiming;
  check(cudaEventCreateWithFlags(&event, flags), "making an event");
  return event;
}

void EventPool::give_back(cudaEvent_t event) noexcept {
  std::lock_guard lock(mutex_);
  try {
    spare_.push_back(event);
  } catch (const std::bad_alloc&) {
    (void)cudaEventDestroy(event);
  }
}

CudaEvent::CudaEvent(EventPool& pool, cudaStream_t stream, std::shared_ptr<const InvalidValueNote> note)
    : pool_(pool), note_(std::move(note)), event_(pool.take()) {
  const auto status = cudaEventRecord(event_, stream);
  if (status == cudaSuccess) return;
  pool_.give_back(event_);
  check(status, "recording an event");
}

CudaEvent::~CudaEvent() {
  pool_.give_back(event_);
}

/// Queries the event, and clears the error of the query, so that a later check does not report it.
cudaError_t CudaEvent::query() const {
  const OutsideCapture outside;
  const auto status = cudaEventQuery(event_);
  if (status != cudaSuccess) (void)cudaGetLastError();
  return status;
}

bool CudaEvent::done() const {
  const auto status = query();
  // An event recorded during a stream capture is not done while the capture lasts. After a fault the event is done, and
  // error() reports the fault.
  return status != cudaErrorNotReady && status != cudaErrorCapturedEvent;
}

std::exception_ptr CudaEvent::error() const {
  try {
    if (const auto status = query(); status != cudaSuccess && status != cudaErrorNotReady) {
      throw Error("cuda", "a kernel failed, one of the last ops launched (" + pool_.recent_ops().names() +
                              "): " + text_of(status));
    }
    note_->check();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

bool CudaEvent::wait_for(std::chrono::nanoseconds limit) {
  const auto begin = std::chrono::steady_clock::now();
  while (!done()) {
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (waited >= limit) return false;
    if (waited > kBusy) std::this_thread::sleep_for(kRest);
  }
  return true;
}

void CudaEvent::notify(std::function<void()> callback) {
  if (done()) return callback();
  // The poller shares the ownership of the event until it has run the callback.
  event_poller().watch(shared_from_this(), std::move(callback));
}

std::optional<std::chrono::nanoseconds> CudaEvent::time_since(const State& earlier) const {
  const auto* before = dynamic_cast<const CudaEvent*>(&earlier);
  const CurrentDevice current(pool_.device());
  float milliseconds = 0.0F;
  if (before == nullptr || cudaEventElapsedTime(&milliseconds, before->event_, event_) != cudaSuccess) {
    (void)cudaGetLastError();
    return std::nullopt;
  }
  return std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6));
}

}  // namespace troupe::cuda
