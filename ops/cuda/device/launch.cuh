#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "troupe/ops/core/memory_pool.hpp"
#include "troupe/ops/core/tensor.hpp"
#include "troupe/ops/cuda/device/check.hpp"
#include "troupe/ops/cuda/device/invalid_value.hpp"

namespace troupe::cuda {

/// Reports invalid values from the kernels of one launch to the stream's note, which keeps the first one. Kernels get a
/// copy as an argument.
struct InvalidReport {
  InvalidValue* note = nullptr;
  const char* op = nullptr;    // name of the op; an address in host memory, which the device only copies
  long long row_elements = 1;  // places of each row of the batch, for labels and indices

  /// Returns the report of a kernel whose places are those of the elements of `tensor` [B, ...].
  InvalidReport of_elements(const Tensor& tensor) const {
    const long long per_row = tensor.shape().row_elements();
    return {note, op, per_row > 0 ? per_row : 1};
  }
  __device__ void operator()(InvalidValue::Kind kind, long long place, long long value, long long bound,
                             float number = 0.0F) const {
    if (atomicCAS(&note->taken, 0, 1) != 0) return;
    note->op = op;
    note->kind = kind;
    note->place = place;
    note->row_elements = row_elements;
    note->value = value;
    note->bound = bound;
    note->number = number;
    __threadfence_system();
    atomicExch(&note->complete, 1);
  }
};

/// The parameters for launching the kernels of one op.
struct Launch {
  cudaStream_t stream;
  /// Scratch memory of at least Kernel::scratch_bytes() bytes, aligned to 256 bytes. The content is undefined when the
  /// op begins.
  std::byte* scratch;
  InvalidReport invalid;
};

/// Returns the bytes of an array of `count` elements in scratch memory, rounded up so that another array can follow.
template <class T>
std::size_t scratch_bytes_of(std::int64_t count) {
  return MemoryPool::rounded(static_cast<std::size_t>(count) * sizeof(T));
}

/// Divides a kernel's scratch memory into arrays, one after the other.
class ScratchParts {
 public:
  explicit ScratchParts(std::byte* memory) : next_(memory) {}
  /// Returns the next array, which takes scratch_bytes_of<T>(count) bytes.
  template <class T>
  T* take(std::int64_t count) {
    return reinterpret_cast<T*>(std::exchange(next_, next_ + scratch_bytes_of<T>(count)));
  }
  /// Returns the memory after the arrays that were taken.
  std::byte* rest() const { return next_; }

 private:
  std::byte* next_;
};

/// The number of threads in a block, unless a launch gives another one, and the number of threads in a warp.
inline constexpr int kBlock = 256;
inline constexpr int kWarp = 32;

/// Launches a kernel. Throws Error that names the op if CUDA refuses.
template <class... Parameters, class... Arguments>
void launch(const Launch& where, dim3 grid, dim3 block, void (*kernel)(Parameters...), const Arguments&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = where.stream;
  check(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...), where.invalid.op);
}

/// a / b, rounded up.
constexpr std::int64_t divided_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Returns the number of blocks, of `threads` threads each, for a kernel with n elements: enough for a thread for each
/// element, but at least 1 and at most as many as fill a large GPU a few times. In the last case a thread computes
/// several elements.
inline unsigned blocks_for(std::int64_t n, int threads = kBlock) {
  constexpr std::int64_t kMaxBlocks = 132 * 16;
  return static_cast<unsigned>(std::clamp<std::int64_t>(divided_up(n, threads), 1, kMaxBlocks));
}

/// The index of the calling thread's first element, and the distance to its next element, in a kernel whose grid may
/// have fewer threads than there are elements.
__device__ inline std::int64_t first_element() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t element_stride() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

template <class Function>
__global__ void __launch_bounds__(kBlock) for_each_kernel(std::int64_t n, Function function) {
  for (auto i = first_element(); i < n; i += element_stride()) function(i);
}

/// Calls function(i) on the device for every i below n, in any order. n may be 0.
template <class Function>
void for_each(const Launch& where, std::int64_t n, const Function& function) {
  if (n > 0) launch(where, blocks_for(n), kBlock, for_each_kernel<Function>, n, function);
}

}  // namespace troupe::cuda
