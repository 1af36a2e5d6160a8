#include "troupe/tests/emulated_cuda/event.hpp"

#include <utility>

#include "troupe/tests/emulated_cuda/error.hpp"
#include "troupe/tests/emulated_cuda/stream.hpp"

namespace emulated_cuda {

void Completion::set() {
  std::lock_guard lock(mutex_);
  set_ = true;
  time_ = std::chrono::steady_clock::now();
  changed_.notify_all();
}

void Completion::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return set_; });
}

bool Completion::is_set() {
  std::lock_guard lock(mutex_);
  return set_;
}

std::chrono::steady_clock::time_point Completion::time() {
  std::lock_guard lock(mutex_);
  return time_;
}

cudaError_t record(CUevent_st& event, Stream& stream) {
  if (&event.device != &stream.device()) return cudaErrorInvalidResourceHandle;
  Recording recording;
  recording.capture = stream.capture();
  if (recording.capture) {
    if (recording.capture->status() == cudaStreamCaptureStatusInvalidated) return cudaErrorStreamCaptureInvalidated;
    recording.nodes = stream.dependencies();
  } else {
    recording.completion = std::make_shared<Completion>();
    const auto set = [completion = recording.completion] { completion->set(); };
    if (const cudaError_t error = stream.submit({.run = set, .always = true})) return error;
  }
  std::lock_guard lock(event.mutex);
  event.last = std::move(recording);
  return cudaSuccess;
}

cudaError_t wait_for(CUevent_st& event, Stream& stream) {
  const Recording recording = event.recording();
  if (recording.capture) {
    if (!recording.capture->is_open()) return cudaErrorCapturedEvent;
    return stream.join(recording.capture, recording.nodes);
  }
  if (!recording.completion) return cudaSuccess;
  if (const auto capture = stream.capture()) {
    capture->invalidate();
    return cudaErrorStreamCaptureIsolation;
  }
  return stream.submit({.run = [completion = recording.completion] { completion->wait(); }, .always = true});
}

namespace {

/// Sets the event's completion for the host, null if the event was never recorded. Returns an error if the host may not
/// query it.
cudaError_t completion_of(CUevent_st& event, std::shared_ptr<Completion>& completion) {
  const Recording recording = event.recording();
  if (recording.capture) {
    recording.capture->invalidate();
    return cudaErrorCapturedEvent;
  }
  completion = recording.completion;
  return refuse_during_capture();
}

}  // namespace

}  // namespace emulated_cuda

using namespace emulated_cuda;

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  if (const cudaError_t error = obstacle()) return returned(error);
  if (flags > (cudaEventBlockingSync | cudaEventDisableTiming)) return returned(cudaErrorInvalidValue);
  *event = new CUevent_st{current_device(), (flags & cudaEventDisableTiming) == 0};
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (event == nullptr) return returned(cudaErrorInvalidResourceHandle);
  delete event;
  return returned(obstacle());
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (const cudaError_t error = obstacle()) return returned(error);
  if (event == nullptr) return returned(cudaErrorInvalidResourceHandle);
  return returned(record(*event, *stream_of(stream)));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  if (const cudaError_t error = obstacle()) return returned(error);
  if (event == nullptr) return returned(cudaErrorInvalidResourceHandle);
  if (flags != cudaEventWaitDefault) return returned(cudaErrorInvalidValue);
  return returned(wait_for(*event, *stream_of(stream)));
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (const cudaError_t error = obstacle()) return returned(error);
  std::shared_ptr<Completion> completion;
  if (const cudaError_t error = completion_of(*event, completion)) return returned(error);
  if (const cudaError_t fault = event->device.fault()) return returned(fault);
  return returned(!completion || completion->is_set() ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (const cudaError_t error = obstacle()) return returned(error);
  std::shared_ptr<Completion> completion;
  if (const cudaError_t error = completion_of(*event, completion)) return returned(error);
  if (completion) completion->wait();
  return returned(event->device.fault());
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (const cudaError_t error = obstacle()) return returned(error);
  if (&start->device != &end->device || !start->has_timing || !end->has_timing) {
    return returned(cudaErrorInvalidResourceHandle);
  }
  const Recording first = start->recording(), second = end->recording();
  if (first.capture || second.capture) return returned(cudaErrorCapturedEvent);
  if (!first.completion || !second.completion) return returned(cudaErrorInvalidResourceHandle);
  if (!first.completion->is_set() || !second.completion->is_set()) return returned(cudaErrorNotReady);
  const std::chrono::duration<float, std::milli> elapsed = second.completion->time() - first.completion->time();
  *milliseconds = elapsed.count();
  return cudaSuccess;
}
