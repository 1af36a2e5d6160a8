#include "troupe/tests/emulated_cuda/memory.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "troupe/tests/emulated_cuda/capture.hpp"
#include "troupe/tests/emulated_cuda/device.hpp"
#include "troupe/tests/emulated_cuda/error.hpp"

namespace emulated_cuda {

namespace {

constexpr std::size_t kAlignment = 256;
// Floats of these bytes are NaN.
constexpr int kPoison = 0xFF;

/// All allocations by address, and the bytes in use on each device.
struct Registry {
  std::shared_mutex mutex;
  std::map<std::uintptr_t, Allocation> allocations;
  std::map<const Device*, std::size_t> used;
};

Registry& registry() {
  static auto* const all = new Registry;
  return *all;
}

/// Allocates exactly this size, so that AddressSanitizer detects accesses beyond it.
cudaError_t allocate(void** pointer, std::size_t bytes, bool is_host) {
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  Device& device = current_device();
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  std::size_t& used = all.used[&device];
  if (!is_host && bytes > device.memory_bytes() - used) return cudaErrorMemoryAllocation;
  if (posix_memalign(pointer, kAlignment, bytes) != 0) return cudaErrorMemoryAllocation;
  std::memset(*pointer, kPoison, bytes);
  if (!is_host) used += bytes;
  all.allocations[reinterpret_cast<std::uintptr_t>(*pointer)] = {static_cast<char*>(*pointer), bytes, &device, is_host};
  return cudaSuccess;
}

/// The allocation that begins at the pointer, or nothing.
std::optional<Allocation> find_beginning(const void* pointer, bool is_host) {
  const auto allocation = find_allocation(pointer);
  return allocation && allocation->begin == pointer && allocation->is_host == is_host ? allocation : std::nullopt;
}

void deallocate(const Allocation& allocation) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  if (all.allocations.erase(reinterpret_cast<std::uintptr_t>(allocation.begin)) == 0) return;
  if (!allocation.is_host) all.used[allocation.device] -= allocation.bytes;
  std::free(allocation.begin);
}

}  // namespace

std::optional<Allocation> find_allocation(const void* pointer) {
  Registry& all = registry();
  std::shared_lock lock(all.mutex);
  auto after = all.allocations.upper_bound(reinterpret_cast<std::uintptr_t>(pointer));
  if (after == all.allocations.begin()) return std::nullopt;
  const Allocation& allocation = std::prev(after)->second;
  return allocation.contains(pointer, 1) ? std::optional(allocation) : std::nullopt;
}

}  // namespace emulated_cuda

using namespace emulated_cuda;

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  if (const cudaError_t error = obstacle()) return returned(error);
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  *total = current_device().memory_bytes();
  *free = *total - all.used[&current_device()];
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  if (const cudaError_t error = obstacle()) return returned(error);
  if (const cudaError_t error = refuse_during_capture()) return returned(error);
  return returned(allocate(pointer, bytes, false));
}

cudaError_t cudaFree(void* pointer) {
  if (const cudaError_t error = obstacle()) return returned(error);
  if (const cudaError_t error = refuse_during_capture()) return returned(error);
  if (pointer == nullptr) return cudaSuccess;
  const auto allocation = find_beginning(pointer, false);
  if (!allocation) return returned(cudaErrorInvalidValue);
  allocation->device->synchronize();
  if (const cudaError_t fault = allocation->device->fault()) return returned(fault);
  deallocate(*allocation);
  return cudaSuccess;
}

cudaError_t cudaMallocHost(void** pointer, std::size_t bytes, unsigned int /*flags*/) {
  return cudaHostAlloc(pointer, bytes, cudaHostAllocDefault);
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned int flags) {
  if (const cudaError_t error = obstacle()) return returned(error);
  if (const cudaError_t error = refuse_during_capture()) return returned(error);
  if (flags > (cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined)) {
    return returned(cudaErrorInvalidValue);
  }
  return returned(allocate(pointer, bytes, true));
}

cudaError_t cudaFreeHost(void* pointer) {
  if (const cudaError_t error = obstacle()) return returned(error);
  if (const cudaError_t error = refuse_during_capture()) return returned(error);
  if (pointer == nullptr) return cudaSuccess;
  const auto allocation = find_beginning(pointer, true);
  if (!allocation) return returned(cudaErrorInvalidValue);
  for (int i = 0; i < device_count(); ++i) device_at(i)->synchronize();
  deallocate(*allocation);
  return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* host_pointer, unsigned int /*flags*/) {
  if (const cudaError_t error = obstacle()) return returned(error);
  const auto allocation = find_allocation(host_pointer);
  if (!allocation || !allocation->is_host) return returned(cudaErrorInvalidValue);
  *device_pointer = host_pointer;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (const cudaError_t error = obstacle()) return returned(error);
  void* const mutable_pointer = const_cast<void*>(pointer);
  const auto allocation = find_allocation(pointer);
  if (!allocation) {
    *attributes = {cudaMemoryTypeUnregistered, -1, nullptr, mutable_pointer};
  } else if (allocation->is_host) {
    *attributes = {cudaMemoryTypeHost, allocation->device->ordinal(), mutable_pointer, mutable_pointer};
  } else {
    *attributes = {cudaMemoryTypeDevice, allocation->device->ordinal(), mutable_pointer, nullptr};
  }
  return cudaSuccess;
}
