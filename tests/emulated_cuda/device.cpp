#include "troupe/tests/emulated_cuda/device.hpp"

#include <cstdlib>

#include "troupe/tests/emulated_cuda/error.hpp"
#include "troupe/tests/emulated_cuda/stream.hpp"

namespace emulated_cuda {

namespace {

thread_local int current_ordinal = 0;

std::size_t number_from(const char* variable, std::size_t otherwise) {
  const char* text = std::getenv(variable);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// Never destroyed, because streams may outlive main.
std::vector<std::unique_ptr<Device>>& devices() {
  static auto* const all = [] {
    const std::size_t count = number_from("EMULATED_CUDA_DEVICES", 1);
    const std::size_t memory = number_from("EMULATED_CUDA_MEMORY", std::size_t{1} << 30);
    auto* list = new std::vector<std::unique_ptr<Device>>;
    for (std::size_t i = 0; i < count; ++i) list->push_back(std::make_unique<Device>(static_cast<int>(i), memory));
    return list;
  }();
  return *all;
}

}  // namespace

std::shared_ptr<Stream> Device::legacy_stream() {
  std::lock_guard lock(mutex_);
  if (!legacy_stream_) {
    legacy_stream_ = std::make_shared<Stream>(*this, Stream::Kind::kLegacy);
    streams_.push_back(legacy_stream_);
  }
  return legacy_stream_;
}

std::shared_ptr<Stream> Device::legacy_stream_if_used() {
  std::lock_guard lock(mutex_);
  return legacy_stream_;
}

void Device::add_stream(const std::shared_ptr<Stream>& stream) {
  std::lock_guard lock(mutex_);
  std::erase_if(streams_, [](const auto& weak) { return weak.expired(); });
  streams_.push_back(stream);
}

std::vector<std::shared_ptr<Stream>> Device::streams() {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Stream>> alive;
  for (const auto& weak : streams_) {
    if (auto stream = weak.lock()) alive.push_back(std::move(stream));
  }
  return alive;
}

void Device::synchronize() {
  for (const auto& stream : streams()) stream->wait_for(stream->last_sequence_number());
}

bool Device::enable_peer(int ordinal) {
  std::lock_guard lock(mutex_);
  return peers_.insert(ordinal).second;
}

int device_count() {
  return static_cast<int>(devices().size());
}

Device* device_at(int ordinal) {
  return ordinal >= 0 && ordinal < device_count() ? devices()[static_cast<std::size_t>(ordinal)].get() : nullptr;
}

Device& current_device() {
  return *devices()[static_cast<std::size_t>(current_ordinal)];
}

}  // namespace emulated_cuda

using namespace emulated_cuda;

cudaError_t cudaGetDeviceCount(int* count) {
  *count = device_count();
  return returned(*count == 0 ? cudaErrorNoDevice : cudaSuccess);
}

cudaError_t cudaSetDevice(int device) {
  if (device_count() == 0) return returned(cudaErrorNoDevice);
  if (!device_at(device)) return returned(cudaErrorInvalidDevice);
  current_ordinal = device;
  return returned(obstacle());
}

cudaError_t cudaGetDevice(int* device) {
  if (device_count() == 0) return returned(cudaErrorNoDevice);
  *device = current_ordinal;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  if (const cudaError_t error = obstacle()) return returned(error);
  if (const cudaError_t error = refuse_during_capture(current_device())) return returned(error);
  current_device().synchronize();
  return returned(current_device().fault());
}
