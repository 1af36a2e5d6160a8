#pragma once

#include <cstddef>
#include <optional>

#include "cuda_runtime_api.h"

namespace emulated_cuda {

class Device;

/// Memory of a device, or pinned memory of the host.
struct Allocation {
  char* begin;
  std::size_t bytes;
  Device* device;
  bool is_host;

  bool contains(const void* pointer, std::size_t count) const {
    const auto offset = static_cast<std::size_t>(static_cast<const char*>(pointer) - begin);
    return offset <= bytes && count <= bytes - offset;
  }
};

/// The allocation that contains the pointer. Nothing if the devices do not know the memory.
std::optional<Allocation> find_allocation(const void* pointer);

}  // namespace emulated_cuda
