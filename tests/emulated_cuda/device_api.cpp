#include <algorithm>
#include <cstdio>

#include "cuda_runtime_api.h"
#include "troupe/tests/emulated_cuda/device.hpp"
#include "troupe/tests/emulated_cuda/error.hpp"

using namespace emulated_cuda;

namespace {

constexpr int kBusOfFirst = 0x1a;

cudaError_t find(int ordinal, Device*& device) {
  if (device_count() == 0) return cudaErrorNoDevice;
  device = device_at(ordinal);
  return device ? cudaSuccess : cudaErrorInvalidDevice;
}

}  // namespace

cudaError_t cudaDriverGetVersion(int* version) {
  *version = device_count() > 0 ? CUDART_VERSION : 0;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* prop, int ordinal) {
  Device* device = nullptr;
  if (const cudaError_t error = find(ordinal, device)) return returned(error);
  *prop = {};
  std::snprintf(prop->name, sizeof prop->name, "Emulated GPU");
  prop->totalGlobalMem = device->memory_bytes();
  prop->sharedMemPerBlock = 48 * 1024;
  prop->sharedMemPerBlockOptin = 227 * 1024;
  prop->regsPerBlock = 65536;
  prop->warpSize = 32;
  prop->maxThreadsPerBlock = 1024;
  const int threads[] = {1024, 1024, 64}, blocks[] = {2147483647, 65535, 65535};
  std::copy_n(threads, 3, prop->maxThreadsDim);
  std::copy_n(blocks, 3, prop->maxGridSize);
  prop->totalConstMem = 64 * 1024;
  prop->major = 9;
  prop->multiProcessorCount = 4;
  prop->canMapHostMemory = prop->concurrentKernels = prop->unifiedAddressing = 1;
  prop->pciBusID = kBusOfFirst + ordinal;
  prop->asyncEngineCount = 2;
  prop->l2CacheSize = 32 << 20;
  prop->maxThreadsPerMultiProcessor = 2048;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int ordinal) {
  cudaDeviceProp prop;
  if (const cudaError_t error = cudaGetDeviceProperties(&prop, ordinal)) return error;
  const struct {
    cudaDeviceAttr attribute;
    int value;
  } values[] = {
      {cudaDevAttrMaxThreadsPerBlock, prop.maxThreadsPerBlock},
      {cudaDevAttrMaxGridDimX, prop.maxGridSize[0]},
      {cudaDevAttrMaxGridDimY, prop.maxGridSize[1]},
      {cudaDevAttrMaxGridDimZ, prop.maxGridSize[2]},
      {cudaDevAttrMaxSharedMemoryPerBlock, static_cast<int>(prop.sharedMemPerBlock)},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, static_cast<int>(prop.sharedMemPerBlockOptin)},
      {cudaDevAttrWarpSize, prop.warpSize},
      {cudaDevAttrMultiProcessorCount, prop.multiProcessorCount},
      {cudaDevAttrIntegrated, prop.integrated},
      {cudaDevAttrCanMapHostMemory, prop.canMapHostMemory},
      {cudaDevAttrConcurrentKernels, prop.concurrentKernels},
      {cudaDevAttrPciBusId, prop.pciBusID},
      {cudaDevAttrPciDeviceId, prop.pciDeviceID},
      {cudaDevAttrPciDomainId, prop.pciDomainID},
      {cudaDevAttrL2CacheSize, prop.l2CacheSize},
      {cudaDevAttrMaxThreadsPerMultiProcessor, prop.maxThreadsPerMultiProcessor},
      {cudaDevAttrAsyncEngineCount, prop.asyncEngineCount},
      {cudaDevAttrUnifiedAddressing, prop.unifiedAddressing},
      {cudaDevAttrComputeCapabilityMajor, prop.major},
      {cudaDevAttrComputeCapabilityMinor, prop.minor},
      {cudaDevAttrManagedMemory, 0},
      {cudaDevAttrMemoryPoolsSupported, 0},
  };
  for (const auto& entry : values) {
    if (entry.attribute != attribute) continue;
    *value = entry.value;
    return cudaSuccess;
  }
  return returned(cudaErrorInvalidValue);
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int ordinal) {
  Device* device = nullptr;
  if (const cudaError_t error = find(ordinal, device)) return returned(error);
  if (length < 13) return returned(cudaErrorInvalidValue);
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02X:00.0", kBusOfFirst + ordinal);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (const cudaError_t error = obstacle()) return returned(error);
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int ordinal, int peer) {
  Device* device = nullptr;
  if (const cudaError_t error = find(ordinal, device)) return returned(error);
  if (const cudaError_t error = find(peer, device)) return returned(error);
  *can = ordinal != peer;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  if (const cudaError_t error = obstacle()) return returned(error);
  Device* device = nullptr;
  if (const cudaError_t error = find(peer, device)) return returned(error);
  if (flags != 0) return returned(cudaErrorInvalidValue);
  if (device == &current_device()) return returned(cudaErrorInvalidDevice);
  return returned(current_device().enable_peer(peer) ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled);
}
