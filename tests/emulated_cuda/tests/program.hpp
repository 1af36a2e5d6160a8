#pragma once

#include <utility>
#include <vector>

#include "cuda_runtime.h"
#include "troupe/tests/catch.hpp"

/// The number of emulated devices in the tests. Tests of faults break the last two.
constexpr int kDevices = 6;

/// A stream of a device, which becomes the current one.
class TestStream {
 public:
  explicit TestStream(int device = 0) {
    cudaSetDevice(device);
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
  }
  ~TestStream() { cudaStreamDestroy(stream_); }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class TestEvent {
 public:
  TestEvent() { cudaEventCreateWithFlags(&event_, cudaEventDisableTiming); }
  ~TestEvent() { cudaEventDestroy(event_); }
  TestEvent(const TestEvent&) = delete;
  TestEvent& operator=(const TestEvent&) = delete;
  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// An array on the current device.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) { cudaMalloc(&data_, count * sizeof(T)); }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice);
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  operator T*() const { return data_; }
  /// Waits for the stream and returns the values.
  std::vector<T> values(cudaStream_t stream) const {
    std::vector<T> result(count_);
    const std::size_t bytes = count_ * sizeof(T);
    REQUIRE(cudaMemcpyAsync(result.data(), data_, bytes, cudaMemcpyDeviceToHost, stream) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
    return result;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

template <typename... Parameters, typename... Arguments>
cudaError_t launch(cudaStream_t stream, dim3 blocks, dim3 threads, void (*kernel)(Parameters...),
                   Arguments&&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
}
