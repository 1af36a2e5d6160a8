#include "troupe/ops/cuda/product_timing.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/memory_pool.hpp"
#include "troupe/ops/cuda/product.hpp"

namespace troupe::cuda {

namespace {

/// Runs that are timed together, how often, and runs before that.
constexpr int kRuns = 10, kRepetitions = 3, kWarmUp = 2;

std::size_t bytes_of(const ProductShape& shape, std::int64_t rows, std::int64_t columns, std::int64_t ld,
                     std::int64_t stride) {
  const auto one = (rows - 1) * std::max(ld, columns) + columns;
  return MemoryPool::rounded(static_cast<std::size_t>((shape.batch - 1) * stride + one) * size_of(shape.dtype));
}

}  // namespace

ProductTiming::ProductTiming(const ProductShape& shape)
    : a_bytes_(shape.transpose_a ? bytes_of(shape, shape.k, shape.m, shape.ld_a, shape.stride_a)
                                 : bytes_of(shape, shape.m, shape.k, shape.ld_a, shape.stride_a)),
      b_bytes_(shape.transpose_b ? bytes_of(shape, shape.n, shape.k, shape.ld_b, shape.stride_b)
                                 : bytes_of(shape, shape.k, shape.n, shape.ld_b, shape.stride_b)),
      bias_bytes_(MemoryPool::rounded(static_cast<std::size_t>(shape.n) * size_of(shape.dtype))),
      y_bytes_(bytes_of(shape, shape.m, shape.n, shape.ld_y, shape.stride_y)) {}

ProductTiming::~ProductTiming() {
  if (stream_ != nullptr) (void)cudaStreamSynchronize(stream_);
  (void)cudaFree(memory_);
  if (begin_ != nullptr) (void)cudaEventDestroy(begin_);
  if (end_ != nullptr) (void)cudaEventDestroy(end_);
  if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
}

bool ProductTiming::prepare() {
  if (prepared_) return memory_ != nullptr;
  prepared_ = true;
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
  check(cudaEventCreate(&begin_), "making an event");
  check(cudaEventCreate(&end_), "making an event");
  const auto bytes = a_bytes_ + b_bytes_ + bias_bytes_ + y_bytes_ + Product::kMostWorkspace;
  void* memory = nullptr;
  if (cudaMalloc(&memory, bytes) != cudaSuccess) {
    (void)cudaGetLastError();
    return false;
  }
  memory_ = static_cast<std::byte*>(memory);
  check(cudaMemsetAsync(memory_, 0, bytes, stream_), "zeroing memory");
  return true;
}

std::optional<double> ProductTiming::measure(const Product& product) {
  // Without memory to measure on, the algorithm that cuBLASLt prefers is as good as any.
  if (!prepare()) return 0.0;
  auto* b = memory_ + a_bytes_;
  auto* bias = b + b_bytes_;
  auto* y = bias + bias_bytes_;
  const auto run = [&] { product.run(stream_, memory_, b, bias, y, y + y_bytes_); };
  try {
    for (int i = 0; i < kWarmUp; ++i) run();
    float least = 0.0F;
    for (int repetition = 0; repetition < kRepetitions; ++repetition) {
      check(cudaEventRecord(begin_, stream_), "timing");
      for (int i = 0; i < kRuns; ++i) run();
      check(cudaEventRecord(end_, stream_), "timing");
      check(cudaEventSynchronize(end_), "timing");
      float milliseconds = 0.0F;
      check(cudaEventElapsedTime(&milliseconds, begin_, end_), "timing");
      least = repetition == 0 ? milliseconds : std::min(least, milliseconds);
    }
    return static_cast<double>(least) * 1e3 / kRuns;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string device_name() {
  int device = 0;
  check(cudaGetDevice(&device), "asking for the current device");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "asking what device it is");
  std::string name = properties.name;
  std::ranges::replace(name, ' ', '_');
  return name;
}

}  // namespace troupe::cuda
