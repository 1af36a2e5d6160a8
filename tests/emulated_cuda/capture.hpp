#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "cuda_runtime_api.h"

namespace emulated_cuda {

class Device;
class Stream;

/// A piece of work of a stream.
struct Work {
  std::function<void()> run;
  /// Whether it waits for work of other devices. In a graph, such nodes keep the order in which they were captured.
  bool meets_others = false;
  /// Whether it runs even after a fault of the device, because others wait for it.
  bool always = false;
};

/// A node of a graph.
struct Node {
  Work work;
  /// Each is smaller than the node's own index.
  std::vector<std::size_t> dependencies;
};

/// A graph that is being captured. Streams that take part in the capture hold it. Thread-safe.
class Capture {
 public:
  Capture(Stream* origin, cudaStreamCaptureMode mode);

  const Stream* origin() const { return origin_; }
  cudaStreamCaptureMode mode() const { return mode_; }
  std::thread::id owner() const { return owner_; }

  cudaStreamCaptureStatus status();
  /// The number of nodes.
  std::size_t size();
  /// Whether the capture has not ended.
  bool is_open();
  void invalidate();
  /// Adds a node. Returns an error if the capture is invalid; otherwise sets `index` to the node's index.
  cudaError_t add(Work work, std::vector<std::size_t> dependencies, std::size_t& index);
  /// Ends the capture and returns the nodes, or an error if it is invalid or has nodes that none of `joined` depends
  /// on.
  cudaError_t end(const std::vector<std::size_t>& joined, std::vector<Node>& nodes);

 private:
  Stream* const origin_;
  const cudaStreamCaptureMode mode_;
  const std::thread::id owner_;
  std::mutex mutex_;
  bool open_ = true;
  bool invalidated_ = false;
  std::vector<Node> nodes_;
};

/// Ends the capture like Capture::end. The streams that take part leave it.
cudaError_t end_capture(Capture& capture, const std::vector<std::size_t>& joined, std::vector<Node>& nodes);

/// Called by functions that cannot be captured and might wait. Returns an error, and invalidates the capture, if a
/// capture forbids the calling thread such a call.
cudaError_t refuse_during_capture();
/// Like the function without an argument. Also returns an error if a stream of the device is capturing in any mode.
cudaError_t refuse_during_capture(Device& device);
/// Like the function without an argument. Also returns an error if the stream is capturing in any mode.
cudaError_t refuse_during_capture(Stream& stream);

}  // namespace emulated_cuda
