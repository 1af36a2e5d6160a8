#include "troupe/tests/emulated_cuda/capture.hpp"

#include <atomic>
#include <utility>

#include "troupe/tests/emulated_cuda/device.hpp"
#include "troupe/tests/emulated_cuda/error.hpp"
#include "troupe/tests/emulated_cuda/stream.hpp"

namespace emulated_cuda {

namespace {

/// All captures that have not ended.
struct OpenCaptures {
  std::mutex mutex;
  std::vector<std::weak_ptr<Capture>> captures;
  /// The number of captures, so that threads need no lock while it is 0.
  std::atomic<int> count{0};
};

OpenCaptures& open_captures() {
  static auto* const all = new OpenCaptures;
  return *all;
}

thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

/// Whether the capture forbids the calling thread calls that might wait.
bool forbids(const Capture& capture) {
  if (thread_mode == cudaStreamCaptureModeRelaxed || capture.mode() == cudaStreamCaptureModeRelaxed) return false;
  if (capture.owner() == std::this_thread::get_id()) return true;
  return thread_mode == cudaStreamCaptureModeGlobal && capture.mode() == cudaStreamCaptureModeGlobal;
}

/// Whether a path leads from one of `from` to every node.
bool covers_all(const std::vector<Node>& nodes, const std::vector<std::size_t>& from) {
  std::vector<bool> reached(nodes.size());
  for (std::size_t i : from) reached[i] = true;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (!reached[i]) return false;
    for (std::size_t dependency : nodes[i].dependencies) reached[dependency] = true;
  }
  return true;
}

}  // namespace

Capture::Capture(Stream* origin, cudaStreamCaptureMode mode)
    : origin_(origin), mode_(mode), owner_(std::this_thread::get_id()) {}

cudaStreamCaptureStatus Capture::status() {
  std::lock_guard lock(mutex_);
  if (!open_) return cudaStreamCaptureStatusNone;
  return invalidated_ ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
}

bool Capture::is_open() {
  std::lock_guard lock(mutex_);
  return open_;
}

std::size_t Capture::size() {
  std::lock_guard lock(mutex_);
  return nodes_.size();
}

void Capture::invalidate() {
  std::lock_guard lock(mutex_);
  invalidated_ = true;
}

cudaError_t Capture::add(Work work, std::vector<std::size_t> dependencies, std::size_t& index) {
  std::lock_guard lock(mutex_);
  if (invalidated_ || !open_) return cudaErrorStreamCaptureInvalidated;
  index = nodes_.size();
  nodes_.push_back({std::move(work), std::move(dependencies)});
  return cudaSuccess;
}

cudaError_t Capture::end(const std::vector<std::size_t>& joined, std::vector<Node>& nodes) {
  std::lock_guard lock(mutex_);
  open_ = false;
  if (invalidated_) return cudaErrorStreamCaptureInvalidated;
  if (!covers_all(nodes_, joined)) return cudaErrorStreamCaptureUnjoined;
  nodes = std::move(nodes_);
  return cudaSuccess;
}

cudaError_t end_capture(Capture& capture, const std::vector<std::size_t>& joined, std::vector<Node>& nodes) {
  open_captures().count.fetch_sub(1, std::memory_order_relaxed);
  return capture.end(joined, nodes);
}

cudaError_t refuse_during_capture() {
  OpenCaptures& open = open_captures();
  if (open.count.load(std::memory_order_relaxed) == 0) return cudaSuccess;
  std::lock_guard lock(open.mutex);
  cudaError_t error = cudaSuccess;
  for (const auto& weak : open.captures) {
    const auto capture = weak.lock();
    if (!capture || !capture->is_open() || !forbids(*capture)) continue;
    capture->invalidate();
    error = cudaErrorStreamCaptureUnsupported;
  }
  return error;
}

cudaError_t refuse_during_capture(Stream& stream) {
  if (const auto capture = stream.capture()) {
    capture->invalidate();
    return cudaErrorStreamCaptureUnsupported;
  }
  return refuse_during_capture();
}

cudaError_t refuse_during_capture(Device& device) {
  cudaError_t error = refuse_during_capture();
  for (const auto& stream : device.streams()) {
    if (refuse_during_capture(*stream) != cudaSuccess) error = cudaErrorStreamCaptureUnsupported;
  }
  return error;
}

}  // namespace emulated_cuda

using namespace emulated_cuda;

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(thread_mode, *mode);
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  if (const cudaError_t error = obstacle()) return returned(error);
  const auto stream = stream_of(handle);
  if (stream->kind() == Stream::Kind::kLegacy) return returned(cudaErrorStreamCaptureUnsupported);
  if (stream->capture()) return returned(cudaErrorIllegalState);
  auto capture = std::make_shared<Capture>(stream.get(), mode);
  OpenCaptures& open = open_captures();
  {
    std::lock_guard lock(open.mutex);
    std::erase_if(open.captures, [](const auto& weak) { return weak.expired(); });
    open.captures.push_back(capture);
    open.count.fetch_add(1, std::memory_order_relaxed);
  }
  return returned(stream->join(capture, {}));
}

// A captured node is identified by its number, from 1.
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                                     size_t* count) {
  if (const cudaError_t error = obstacle()) return returned(error);
  if (id || graph) return returned(cudaErrorNotSupported);
  const auto stream = stream_of(handle);
  const auto capture = stream->capture();
  *status = capture ? capture->status() : cudaStreamCaptureStatusNone;
  if (*status != cudaStreamCaptureStatusActive) return cudaSuccess;
  thread_local std::vector<cudaGraphNode_t> shown;
  shown.clear();
  for (std::size_t node : stream->dependencies()) shown.push_back(reinterpret_cast<cudaGraphNode_t>(node + 1));
  thread_local std::vector<cudaGraphEdgeData> plain;
  plain.assign(shown.size(), {});
  if (nodes) *nodes = shown.data();
  if (edges) *edges = plain.data();
  if (count) *count = shown.size();
  return cudaSuccess;
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t handle, cudaGraphNode_t* nodes,
                                                const cudaGraphEdgeData* edges, size_t count, unsigned int flags) {
  if (const cudaError_t error = obstacle()) return returned(error);
  if (flags != cudaStreamSetCaptureDependencies) return returned(cudaErrorNotSupported);
  for (std::size_t i = 0; edges && i < count; ++i) {
    if (edges[i].from_port || edges[i].to_port || edges[i].type) return returned(cudaErrorNotSupported);
  }
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    if (!nodes[i]) return returned(cudaErrorInvalidValue);
    numbers.push_back(reinterpret_cast<std::size_t>(nodes[i]) - 1);
  }
  return returned(stream_of(handle)->set_dependencies(std::move(numbers)));
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  if (const cudaError_t error = obstacle()) return returned(error);
  const auto capture = stream_of(handle)->capture();
  *status = capture ? capture->status() : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
