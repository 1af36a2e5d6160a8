#include <cstdlib>
#include <string>

#include "troupe/tests/emulated_cuda/tests/program.hpp"

// The first call of a function of the emulation reads the environment.
[[maybe_unused]] static const int environment_is_set =
    setenv("EMULATED_CUDA_DEVICES", std::to_string(kDevices).c_str(), 1) + setenv("EMULATED_CUDA_MEMORY", "1000000", 1);

TEST_CASE("devices and memory are those of the environment", "[device]") {
  int count = 0;
  REQUIRE(cudaGetDeviceCount(&count) == cudaSuccess);
  REQUIRE(count == kDevices);
  REQUIRE(cudaSetDevice(kDevices) == cudaErrorInvalidDevice);
  REQUIRE(cudaGetLastError() == cudaErrorInvalidDevice);
  REQUIRE(cudaGetLastError() == cudaSuccess);
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  void *first = nullptr, *second = nullptr;
  REQUIRE(cudaMalloc(&first, 600000) == cudaSuccess);
  REQUIRE(cudaMalloc(&second, 600000) == cudaErrorMemoryAllocation);
  std::size_t free = 0, total = 0;
  REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
  REQUIRE(free == 400000);
  REQUIRE(cudaFree(first) == cudaSuccess);
  REQUIRE(cudaFree(&count) == cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_CASE("copies beyond an allocation and in the wrong direction are refused", "[device]") {
  cudaSetDevice(0);
  DeviceArray<float> array(10);
  float host[11] = {};
  REQUIRE(cudaMemcpy(array, host, 44, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  REQUIRE(cudaMemcpy(array, host, 40, cudaMemcpyDeviceToHost) == cudaErrorInvalidMemcpyDirection);
  REQUIRE(cudaMemcpy(array + 4, host, 24, cudaMemcpyDefault) == cudaSuccess);
  cudaGetLastError();
}
