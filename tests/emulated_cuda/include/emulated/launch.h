#pragma once

#include <functional>
#include <tuple>
#include <utility>

#include "types.h"

namespace emulated_cuda {

/// Queues a kernel, or makes it a node if the stream is capturing. `thread` is called once for every thread.
cudaError_t launch_kernel(const cudaLaunchConfig_t& config, std::function<void()> thread);

/// Queues work of a library on the stream, or makes it a node. A node may run several times.
cudaError_t launch_work(cudaStream_t stream, std::function<void()> work);

}  // namespace emulated_cuda

/// Copies the arguments when it is called. Every thread gets copies of these copies.
template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  static_assert((std::is_trivially_copyable_v<Parameters> && ...), "arguments of a kernel are copied as bytes");
  return emulated_cuda::launch_kernel(
      *config, [kernel, values = std::tuple<Parameters...>(std::forward<Arguments>(arguments)...)] {
        std::apply(kernel, values);
      });
}
