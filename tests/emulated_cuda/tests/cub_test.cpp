#include "cub/cub.cuh"
#include "troupe/tests/emulated_cuda/tests/program.hpp"

TEST_CASE("sorting is stable, by keys with signs, up and down", "[cub]") {
  TestStream stream;
  const DeviceArray<float> keys(std::vector<float>{2, -1, 0.5f, -1, -0.0f, 0.0f});
  const DeviceArray<int> values(std::vector<int>{0, 1, 2, 3, 4, 5});
  DeviceArray<float> keys_out(6);
  DeviceArray<int> values_out(6);
  std::size_t bytes = 0;
  REQUIRE(cub::DeviceRadixSort::SortPairs<float, int>(nullptr, bytes, keys, keys_out, values, values_out, 6, 0, 32,
                                                      stream) == cudaSuccess);
  const DeviceArray<char> storage(bytes);
  REQUIRE(cub::DeviceRadixSort::SortPairs<float, int>(storage, bytes, keys, keys_out, values, values_out, 6, 0, 32,
                                                      stream) == cudaSuccess);
  REQUIRE(values_out.values(stream) == std::vector<int>{1, 3, 4, 5, 2, 0});
  REQUIRE(cub::DeviceRadixSort::SortPairsDescending<float, int>(storage, bytes, keys, keys_out, values, values_out, 6,
                                                                0, 32, stream) == cudaSuccess);
  REQUIRE(values_out.values(stream) == std::vector<int>{0, 2, 4, 5, 1, 3});
  REQUIRE(keys_out.values(stream)[0] == 2);
}

TEST_CASE("sorting by segments, and sums", "[cub]") {
  TestStream stream;
  const DeviceArray<unsigned> keys(std::vector<unsigned>{3, 1, 2, 9, 8});
  const DeviceArray<int> values(std::vector<int>{3, 1, 2, 9, 8}), offsets(std::vector<int>{0, 3, 3, 5});
  DeviceArray<unsigned> keys_out(5);
  DeviceArray<int> values_out(5), sums(5);
  std::size_t bytes = 0, sum_bytes = 0;
  const auto sort = [&](void* storage) {
    return cub::DeviceSegmentedRadixSort::SortPairs<unsigned, int>(storage, bytes, keys, keys_out, values, values_out,
                                                                   5, 3, static_cast<int*>(offsets), offsets + 1, 0, 32,
                                                                   stream);
  };
  REQUIRE(sort(nullptr) == cudaSuccess);
  const DeviceArray<char> storage(bytes);
  REQUIRE(sort(storage) == cudaSuccess);
  REQUIRE(values_out.values(stream) == std::vector<int>{1, 2, 3, 8, 9});
  int* const in = values_out;
  REQUIRE(cub::DeviceScan::ExclusiveSum(nullptr, sum_bytes, in, in, 5, stream) == cudaSuccess);
  REQUIRE(sum_bytes <= bytes);
  REQUIRE(cub::DeviceScan::ExclusiveSum(storage, sum_bytes, in, static_cast<int*>(sums), 5, stream) == cudaSuccess);
  REQUIRE(sums.values(stream) == std::vector<int>{0, 1, 3, 6, 14});
  REQUIRE(cub::DeviceScan::InclusiveSum(storage, sum_bytes, in, in, 5, stream) == cudaSuccess);
  REQUIRE(values_out.values(stream) == std::vector<int>{1, 3, 6, 14, 23});
}
