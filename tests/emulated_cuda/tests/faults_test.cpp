#include "troupe/tests/emulated_cuda/tests/program.hpp"

namespace {

__global__ void barrier_for_some() {
  if (threadIdx.x % 2 == 0) __syncthreads();
}

__global__ void trap_in_one(int* data) {
  if (threadIdx.x == 3) __trap();
  __syncthreads();
  data[threadIdx.x] = 1;
}

}  // namespace

TEST_CASE("a barrier that not all threads reach fails the launch, and the device is lost", "[fault]") {
  TestStream stream(kDevices - 1);
  DeviceArray<int> array(4);
  REQUIRE(launch(stream, 1, 64, barrier_for_some) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream) == cudaErrorLaunchFailure);
  REQUIRE(cudaGetLastError() == cudaErrorLaunchFailure);
  REQUIRE(cudaGetLastError() == cudaErrorLaunchFailure);
  REQUIRE(cudaMemsetAsync(array, 0, 4, stream) == cudaErrorLaunchFailure);
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  cudaGetLastError();
}

TEST_CASE("a trap fails the launch, and events are still reached", "[fault]") {
  TestStream stream(kDevices - 2), other(0);
  cudaSetDevice(kDevices - 2);
  DeviceArray<int> array(64);
  TestEvent event;
  REQUIRE(launch(stream, 2, 64, trap_in_one, array) == cudaSuccess);
  const cudaError_t recorded = cudaEventRecord(event, stream);
  REQUIRE((recorded == cudaSuccess || recorded == cudaErrorLaunchFailure));
  cudaSetDevice(0);
  REQUIRE(cudaStreamWaitEvent(other, event) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(other) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream) == cudaErrorLaunchFailure);
  cudaGetLastError();
}
