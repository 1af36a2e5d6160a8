#include <numeric>

#include "troupe/tests/emulated_cuda/tests/program.hpp"

namespace {

__global__ void sum_of_block(const float* in, float* out, int n) {
  __shared__ float partial[32];
  const unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = index < static_cast<unsigned>(n) ? in[index] : 0;
  for (int delta = 16; delta > 0; delta /= 2) sum += __shfl_down_sync(0xffffffff, sum, delta);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
  for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffff, sum, mask);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__global__ void reverse_in_shared(int* data) {
  __shared__ int copy[64];
  copy[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = copy[blockDim.x - 1 - threadIdx.x];
}

__global__ void reverse_without_barrier(int* data) {
  __shared__ int copy[64];
  copy[threadIdx.x] = data[threadIdx.x];
  data[threadIdx.x] = copy[blockDim.x - 1 - threadIdx.x];
}

__global__ void votes(unsigned* out) {
  const unsigned lane = threadIdx.x;
  const unsigned half = lane < 16 ? 0x0000ffffu : 0xffff0000u;
  const unsigned odd = __ballot_sync(half, lane % 2);
  const int any = __syncthreads_or(lane == 5), all = __syncthreads_and(lane != 5),
            count = __syncthreads_count(lane < 7);
  const long long up = __shfl_up_sync(0xffffffff, static_cast<long long>(lane), 1, 8);
  const int third = __shfl_sync(0xffffffff, static_cast<int>(lane), 3);
  out[lane] = odd;
  atomicAdd(&out[32], static_cast<unsigned>(any + 2 * all + 4 * count + 100 * third));
  out[33 + lane] = static_cast<unsigned>(up);
}

__global__ void absent_lanes(float* out) {
  out[threadIdx.x] = __shfl_down_sync(0xffffffff, 1.0f, 4);
}

__global__ void count_threads(int* counts, dim3 expected) {
  if (blockDim.y != expected.y || threadIdx.z >= blockDim.z) return;
  atomicAdd(&counts[threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)], 1);
}

}  // namespace

TEST_CASE("a block is reduced by shuffles and a barrier", "[kernel]") {
  TestStream stream;
  std::vector<float> in(4 * 256);
  std::iota(in.begin(), in.end(), 0.0f);
  DeviceArray<float> array(in), sums(4);
  REQUIRE(launch(stream, 4, 256, sum_of_block, array, sums, 1000) == cudaSuccess);
  const auto got = sums.values(stream);
  for (int block = 0; block < 4; ++block) {
    const int begin = 256 * block, end = std::min(1000, begin + 256);
    REQUIRE(got[static_cast<std::size_t>(block)] == static_cast<float>((begin + end - 1) * (end - begin) / 2));
  }
}

TEST_CASE("votes, masks and widths", "[kernel]") {
  TestStream stream;
  DeviceArray<unsigned> out(std::vector<unsigned>(65));
  REQUIRE(launch(stream, 1, 32, votes, out) == cudaSuccess);
  const auto got = out.values(stream);
  REQUIRE(got[0] == 0x0000aaaa);
  REQUIRE(got[31] == 0xaaaa0000);
  REQUIRE(got[32] == 32 * (1 + 4 * 7 + 100 * 3));
  REQUIRE(got[33 + 8] == 8);
  REQUIRE(got[33 + 9] == 8);
}

TEST_CASE("a value from a lane that does not exist is NaN", "[kernel]") {
  TestStream stream;
  DeviceArray<float> out(20);
  REQUIRE(launch(stream, 1, 20, absent_lanes, out) == cudaSuccess);
  const auto got = out.values(stream);
  REQUIRE(got[15] == 1);
  REQUIRE(std::isnan(got[16]));
}

TEST_CASE("the order of threads shows a missing barrier", "[kernel]") {
  TestStream stream;
  int right = 0;
  for (int i = 0; i < 20; ++i) {
    // Different numbers every time, because shared memory keeps those of the last block.
    std::vector<int> in(64);
    std::iota(in.begin(), in.end(), 100 * i);
    const std::vector<int> reversed(in.rbegin(), in.rend());
    DeviceArray<int> array(in), other(in);
    REQUIRE(launch(stream, 1, 64, reverse_in_shared, array) == cudaSuccess);
    REQUIRE(array.values(stream) == reversed);
    REQUIRE(launch(stream, 1, 64, reverse_without_barrier, other) == cudaSuccess);
    right += other.values(stream) == reversed;
  }
  REQUIRE(right == 0);
}

TEST_CASE("a block of three dimensions, and the limits of a launch", "[kernel]") {
  TestStream stream;
  DeviceArray<int> counts(std::vector<int>(24));
  const dim3 threads(2, 3, 4);
  REQUIRE(launch(stream, dim3(5, 2, 1), threads, count_threads, counts, threads) == cudaSuccess);
  REQUIRE(counts.values(stream) == std::vector<int>(24, 10));
  REQUIRE(launch(stream, 1, dim3(32, 33), count_threads, counts, threads) == cudaErrorInvalidConfiguration);
  REQUIRE(launch(stream, dim3(1, 65536), 1, count_threads, counts, threads) == cudaErrorInvalidConfiguration);
  REQUIRE(launch(stream, 0, 1, count_threads, counts, threads) == cudaErrorInvalidConfiguration);
  cudaSetDevice(1);
  REQUIRE(launch(stream, 1, threads, count_threads, counts, threads) == cudaErrorInvalidResourceHandle);
  cudaGetLastError();
}
