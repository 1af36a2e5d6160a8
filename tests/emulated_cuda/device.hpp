#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "cuda_runtime_api.h"

namespace emulated_cuda {

class Stream;

/// One emulated device.
class Device {
 public:
  Device(int ordinal, std::size_t memory_bytes) : ordinal_(ordinal), memory_bytes_(memory_bytes) {}

  int ordinal() const { return ordinal_; }
  std::size_t memory_bytes() const { return memory_bytes_; }

  /// The sticky error: cudaSuccess until a kernel fails. After that, all calls return the error, and queued work does
  /// nothing.
  cudaError_t fault() const { return fault_.load(std::memory_order_relaxed); }
  void set_fault(cudaError_t fault) { fault_.store(fault, std::memory_order_relaxed); }

  /// The legacy stream 0, made on first use.
  std::shared_ptr<Stream> legacy_stream();
  /// The legacy stream, or null if it has not been used.
  std::shared_ptr<Stream> legacy_stream_if_used();
  void add_stream(const std::shared_ptr<Stream>& stream);
  /// The streams that have a handle or work left.
  std::vector<std::shared_ptr<Stream>> streams();
  /// Waits for all work that is queued now.
  void synchronize();

  /// Returns false if access was enabled before.
  bool enable_peer(int ordinal);

 private:
  const int ordinal_;
  const std::size_t memory_bytes_;
  std::atomic<cudaError_t> fault_{cudaSuccess};
  std::mutex mutex_;
  std::shared_ptr<Stream> legacy_stream_;
  std::vector<std::weak_ptr<Stream>> streams_;
  std::set<int> peers_;
};

/// The value of EMULATED_CUDA_DEVICES at the first call.
int device_count();
/// Null if there is no such device.
Device* device_at(int ordinal);
/// The calling thread's device. There must be a device.
Device& current_device();

}  // namespace emulated_cuda
