#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda_runtime_api.h"
#include "troupe/tests/emulated_cuda/capture.hpp"
#include "troupe/tests/emulated_cuda/device.hpp"

namespace emulated_cuda {

/// A queue of work and the thread that does it, from the first work until the stream is closed and empty. All functions
/// may be called from any thread.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  /// A blocking stream and the legacy stream wait for each other.
  enum class Kind { kLegacy, kBlocking, kNonBlocking };

  Stream(Device& device, Kind kind) : device_(device), kind_(kind) {}

  Device& device() const { return device_; }
  Kind kind() const { return kind_; }

  /// Queues the work, or makes it a node of the graph if the stream is capturing. It may run several times then.
  cudaError_t submit(Work work);
  /// The number of what was queued last.
  std::uint64_t last_ticket();
  /// Waits until all up to this number has run.
  void wait_for(std::uint64_t ticket);
  bool is_idle();
  /// The thread has nothing to do any more once all is done.
  void close();

  /// Null if the stream is not capturing.
  std::shared_ptr<Capture> capture();
  /// The nodes that the next one will depend on.
  std::vector<std::size_t> dependencies();
  /// What comes next depends on the nodes too; the stream takes part in the capture from now on. An error if it takes
  /// part in another.
  cudaError_t join(const std::shared_ptr<Capture>& capture, const std::vector<std::size_t>& nodes);
  /// What comes next depends on these nodes alone. An error if the stream is not capturing, or if there are no such
  /// nodes.
  cudaError_t set_dependencies(std::vector<std::size_t> nodes);

  /// For the end of the process: starts no further work, and waits a moment for what is running.
  void stop(std::chrono::steady_clock::time_point deadline);

 private:
  cudaError_t follow_legacy();
  void follow(const std::shared_ptr<Stream>& other);
  void enqueue(Work work);
  void run();
  void drop_ended_capture();

  Device& device_;
  const Kind kind_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  std::uint64_t queued_ = 0;
  std::uint64_t done_ = 0;
  bool has_thread_ = false;
  bool is_running_ = false;
  bool closed_ = false;
  bool stopped_ = false;
  std::shared_ptr<Capture> capture_;
  std::vector<std::size_t> dependencies_;
};

/// True once the streams have been stopped because the process ends: nothing must be waited for any more.
bool is_process_ending();

/// The handle's stream; 0 is the current device's legacy stream.
std::shared_ptr<Stream> stream_of(cudaStream_t handle);

}  // namespace emulated_cuda

/// Deleted by cudaStreamDestroy, so that AddressSanitizer sees who uses it later.
struct CUstream_st {
  std::shared_ptr<emulated_cuda::Stream> stream;
};
