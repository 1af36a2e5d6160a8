#include "troupe/ops/cuda/device/cuda_stream.hpp"

#include "troupe/ops/core/error.hpp"

namespace troupe::cuda {

namespace {

/// The CapturedWork of a CudaStream: a captured CUDA graph, instantiated so that it can be launched.
class CudaGraph final : public CapturedWork {
 public:
  /// Takes ownership of the graph, and keeps `note` alive, the stream's note of invalid values, because the captured
  /// kernels write to it. Throws Error if CUDA refuses.
  CudaGraph(cudaGraph_t graph, std::shared_ptr<const InvalidValueNote> note) : note_(std::move(note)) {
    const auto status = cudaGraphInstantiate(&executable_, graph, 0);
    (void)cudaGraphDestroy(graph);
    check(status, "instantiating captured work");
  }
  // A launch in flight continues. CUDA frees the executable graph when the launch is done.
  ~CudaGraph() override { (void)cudaGraphExecDestroy(executable_); }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  cudaGraphExec_t executable() const { return executable_; }

 private:
  std::shared_ptr<const InvalidValueNote> note_;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace

CudaStream::CudaStream(Device device) : Stream(device), state_(device_state(device)) {
  const CurrentDevice current(device.index);
  note_ = std::make_shared<InvalidValueNote>();
  check(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking), "making a stream");
  state_.add(*this);
}

CudaStream::~CudaStream() {
  state_.remove(*this);
  // Kernels in flight may still write to the note, so the note is kept until these kernels are done. After a failure it
  // is not known when they are done, so the note is kept for ever.
  if (failure() != nullptr)
    note_->keep_for_ever();
  else
    last_launched().notify([note = note_] {});
  (void)cudaStreamDestroy(handle_);
}

/// Makes the stream's device the calling thread's current device, which CUDA requires for work on the stream.
void CudaStream::use_device() const {
  if (current_device() != device().index) check(cudaSetDevice(device().index), "using " + to_string(device()));
}

/// Returns the exception that is being handled. An Error is replaced by one that also names the recent ops, because
/// CUDA reports the fault of a kernel only by a later call.
std::exception_ptr CudaStream::failure_now() const noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return std::make_exception_ptr(Error("cuda", "after the ops " + state_.recent_ops().names() + ": " + error.what()));
  } catch (...) {
    return std::current_exception();
  }
}

std::exception_ptr CudaStream::failure() const {
  std::lock_guard lock(failure_mutex_);
  return failure_;
}

void CudaStream::expect_no_failure() const {
  if (const auto earlier = failure()) std::rethrow_exception(earlier);
}

Event CudaStream::record_in(EventPool& pool) noexcept {
  if (const auto earlier = failure()) return failed_event(earlier);
  try {
    return Event(std::make_shared<CudaEvent>(pool, handle_, note_));
  } catch (...) {
    return failed_event(failure_now());
  }
}

/// Runs `call`, which makes CUDA calls, unless the stream has failed before. An exception of `call` becomes the
/// stream's failure. Also drops the event that record() would return again.
template <class Call>
void CudaStream::attempt(Call call) noexcept {
  recorded_.reset();
  if (failure() != nullptr) return;
  try {
    use_device();
    call();
  } catch (...) {
    std::lock_guard lock(failure_mutex_);
    failure_ = failure_now();
  }
}

Event CudaStream::record() {
  if (!recorded_) recorded_ = record_in(state_.events());
  return *recorded_;
}

Event CudaStream::record_with_time() {
  return record_in(state_.timed_events());
}

Event CudaStream::last_launched() {
  const CurrentDevice current(device().index);
  std::lock_guard lock(capture_mutex_);
  return capturing_ ? before_capture_ : record_in(state_.events());
}

void CudaStream::wait(const Event& event) {
  if (event.state() == nullptr) return;
  const auto* recorded = dynamic_cast<const CudaEvent*>(event.state().get());
  if (recorded == nullptr) {
    // CUDA cannot wait for an event of another backend, so the calling thread waits.
    attempt([&] { event.wait(); });
  } else if (recorded->note() != note_) {
    // Each stream has its own note of invalid values, so another note means another stream. The handles of streams
    // cannot be compared instead, because CUDA reuses the handles of destroyed streams. An event of this stream needs
    // no wait.
    attempt([&] { check(cudaStreamWaitEvent(handle_, recorded->handle(), 0), "waiting for an event"); });
  }
}

void CudaStream::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 0) return;
  attempt([&] {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, handle_), "copying " + std::to_string(bytes) + " bytes");
  });
}

void CudaStream::zero(std::byte* memory, std::size_t bytes) {
  if (bytes == 0) return;
  attempt([&] { check(cudaMemsetAsync(memory, 0, bytes, handle_), "zeroing " + std::to_string(bytes) + " bytes"); });
}

void CudaStream::begin_capture() {
  use_device();
  std::lock_guard lock(capture_mutex_);
  expect_no_failure();
  recorded_.reset();
  before_capture_ = record_in(state_.events());
  check(cudaStreamBeginCapture(handle_, cudaStreamCaptureModeThreadLocal), "beginning to capture");
  capturing_ = true;
  captured_ = {};
}

void CudaStream::begin_launch(std::span<const std::size_t> waits_for) {
  captured_.begin(handle_, waits_for);
}

std::shared_ptr<CapturedWork> CudaStream::end_capture() {
  cudaGraph_t graph = nullptr;
  {
    std::lock_guard lock(capture_mutex_);
    try {
      captured_.join(handle_);
    } catch (const std::exception&) {
      // If the capture is invalid, cudaStreamEndCapture below reports it.
    }
    const auto status = cudaStreamEndCapture(handle_, &graph);
    capturing_ = false;
    before_capture_ = {};
    if (status != cudaSuccess) {
      // The stream's failure is dropped: it may come from a call that CUDA refused only because the stream was being
      // captured. A permanent failure is reported again by a later call.
      std::lock_guard failure_lock(failure_mutex_);
      failure_ = nullptr;
    }
    check(status, "capturing");
  }
  return std::make_shared<CudaGraph>(graph, note_);
}

void CudaStream::launch(const CapturedWork& work) {
  expect_no_failure();
  use_device();
  recorded_.reset();
  const auto& graph = static_cast<const CudaGraph&>(work);
  check(cudaGraphLaunch(graph.executable(), handle_), "launching captured work");
}

void CudaStream::note_launch(const char* op) {
  expect_no_failure();
  use_device();
  state_.recent_ops().add(op);
}

}  // namespace troupe::cuda
