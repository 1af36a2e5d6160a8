#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda_runtime_api.h"
#include "troupe/tests/emulated_cuda/capture.hpp"

namespace emulated_cuda {

/// Is set once, when a stream has reached a point.
class Completion {
 public:
  void set();
  void wait();
  bool is_set();
  /// The time of set(), which must have been called.
  std::chrono::steady_clock::time_point time();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
  std::chrono::steady_clock::time_point time_;
};

/// The last recording of an event: none, in a stream, or in a stream that was capturing.
struct Recording {
  std::shared_ptr<Completion> completion;
  std::shared_ptr<Capture> capture;
  std::vector<std::size_t> nodes;
};

cudaError_t record(CUevent_st& event, Stream& stream);
/// Makes the stream's next work wait for the event's last recording.
cudaError_t wait_for(CUevent_st& event, Stream& stream);

}  // namespace emulated_cuda

struct CUevent_st {
  emulated_cuda::Device& device;
  bool has_timing = true;
  std::mutex mutex{};
  emulated_cuda::Recording last{};

  emulated_cuda::Recording recording() {
    std::lock_guard lock(mutex);
    return last;
  }
};
