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

struct Work {
  std::function<void()> run;
  /// Waits for work of other devices: in a graph, such nodes keep the order in which they were captured.
  bool meets_others = false;
  /// Runs even after a fault of the device, as what others wait for must.
  bool always = false;
};

struct Node {
  Work work;
  /// All are smaller than the node's own index.
  std::vector<std::size_t> dependencies;
};

/// A graph in the making. Streams that take part hold on to it. All functions may be called from any thread.
class Capture {
 public:
  Capture(Stream* origin, cudaStreamCaptureMode mode);

  const Stream* origin() const { return origin_; }
  cudaStreamCaptureMode mode() const { return mode_; }
  std::thread::id owner() const { return owner_; }

  cudaStreamCaptureStatus status();
  /// The number of nodes.
  std::size_t size();
  /// False once it was ended.
  bool is_open();
  void invalidate();
  /// The node's index, or an error if the capture was invalidated.
  cudaError_t add(Work work, std::vector<std::size_t> dependencies, std::size_t& index);
  /// Ends it. Gives the nodes, or an error: it was invalidated, or has nodes that none of `joined` depends on.
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

/// Ends the capture as Capture::end does. The streams that take part leave it.
cudaError_t end_capture(Capture& capture, const std::vector<std::size_t>& joined, std::vector<Node>& nodes);

/// To be called by what cannot be captured and might wait: an error if the calling thread must not do so because of a
/// capture going on, which it spoils.
cudaError_t refuse_during_capture();
/// As above; also if a stream of the device is capturing in any mode.
cudaError_t refuse_during_capture(Device& device);
/// As above; also if the stream is capturing in any mode.
cudaError_t refuse_during_capture(Stream& stream);

}  // namespace emulated_cuda
