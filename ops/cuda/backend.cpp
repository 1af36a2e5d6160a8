#include "troupe/ops/core/backend.hpp"

#include <cstring>

#include "troupe/ops/core/built_in_backends.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/cuda/device/cuda_stream.hpp"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

using cuda::CurrentDevice;
using cuda::device_state;

/// Makes a kernel while its device is the calling thread's current one, because making the kernel may measure on the
/// device.
class CudaKernels final : public KernelTable {
 public:
  CudaKernels() {
#define TROUPE_OP(op, factory) add(op, {cuda::factory, gpu_takes_16_bits(op)});
#include "troupe/ops/graph/op_list.def"
  }

  std::unique_ptr<Kernel> make(const OpCall& call, Device device) override {
    (void)device_state(device);
    const CurrentDevice current(device.index);
    return KernelTable::make(call, device);
  }
};

class CudaBackend final : public Backend {
 public:
  bool host_accessible() const override { return false; }
  int device_count() const override { return cuda::device_count(); }

  std::shared_ptr<std::byte> allocate(Device device, std::size_t bytes) override {
    auto& state = device_state(device);
    if (bytes == 0) return nullptr;
    auto* block = state.memory().allocate(bytes);
    if (block == nullptr)
      throw OutOfMemory("cuda", "out of memory: " + std::to_string(bytes) + " bytes requested on " + to_string(device) +
                                    ", of which this process uses " + std::to_string(state.memory().bytes_in_use()));
    std::shared_ptr<std::byte> memory(block, [&state, bytes](std::byte* at) { state.memory().release(at, bytes); });
    const CurrentDevice current(device.index);
    cuda::CudaStream stream(device);
    stream.zero(block, bytes);
    stream.record().wait();
    return memory;
  }

  std::shared_ptr<std::byte> allocate_pinned(std::size_t bytes) override {
    if (bytes == 0) return nullptr;
    void* memory = nullptr;
    const auto status = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable);
    if (status == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      throw OutOfMemory("cuda", "out of memory: " + std::to_string(bytes) + " bytes of pinned memory requested");
    }
    cuda::check(status, "allocating " + std::to_string(bytes) + " bytes of pinned memory");
    std::memset(memory, 0, bytes);
    return {static_cast<std::byte*>(memory), [](std::byte* pinned) { (void)cudaFreeHost(pinned); }};
  }

  std::unique_ptr<Stream> make_stream(Device device) override { return std::make_unique<cuda::CudaStream>(device); }

  void synchronize(Device device) override {
    for (const auto& event : device_state(device).work_so_far()) event.wait();
  }

  KernelTable& kernels() override { return kernels_; }

 private:
  CudaKernels kernels_;
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend() {
  return std::make_unique<CudaBackend>();
}

}  // namespace troupe
