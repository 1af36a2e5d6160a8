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

/// A queue of work and the thread that runs it, from the first work until the stream is closed and empty. Thread-safe.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  /// A blocking stream and the legacy stream wait for each other.
  enum class Kind { kLegacy, kBlocking, kNonBlocking };

  Stream(Device& device, Kind kind) : device_(device), kind_(kind) {}

  Device& device() const { return device_; }
  Kind kind() const { return kind_; }

  /// Queues the work, or makes it a node of the graph if the stream is capturing. A node may run several times.
  cudaError_t submit(Work work);
  /// The sequence number of the work that was queued last.
  std::uint64_t last_sequence_number();
  /// Waits until all work up to this sequence number has run.
  void wait_for(std::uint64_t sequence_number);
  bool is_idle();
  /// Lets the thread end once all work is done.
  void close();

  /// Null if the stream is not capturing.
  std::shared_ptr<Capture> capture();
  /// The nodes on which the next one will depend.
  std::vector<std::size_t> dependencies();
  /// Makes the next node depend on these nodes, too. The stream takes part in the capture from now on. Returns an error
  /// if it takes part in another capture.
  cudaError_t join(const std::shared_ptr<Capture>& capture, const std::vector<std::size_t>& nodes);
  /// Makes the next node depend on these nodes only. Returns an error if the stream is not capturing or there are no
  /// such nodes.
  cudaError_t set_dependencies(std::vector<std::size_t> nodes);

  /// Called at the end of the process: starts no further work, and waits until the deadline for running work.
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

/// Whether the streams have been stopped because the process ends. After that, nothing may wait.
bool is_process_ending();

/// The stream of the handle. Handle 0 is the current device's legacy stream.
std::shared_ptr<Stream> stream_of(cudaStream_t handle);

}  // namespace emulated_cuda

/// cudaStreamDestroy deletes it, so that AddressSanitizer detects later uses.
struct CUstream_st {
  std::shared_ptr<emulated_cuda::Stream> stream;
};
