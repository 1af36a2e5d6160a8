#include "troupe/ops/cuda/device/device_state.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/cuda/device/cuda_stream.hpp"

namespace troupe::cuda {

namespace {

std::byte* allocate_on(int device, std::size_t bytes) {
  const CurrentDevice current(device);
  void* memory = nullptr;
  const auto status = cudaMalloc(&memory, bytes);
  if (status == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    return nullptr;
  }
  check(status, "allocating " + std::to_string(bytes) + " bytes");
  return static_cast<std::byte*>(memory);
}

void release_on(int device, std::byte* memory) {
  const CurrentDevice current(device);
  (void)cudaFree(memory);
}

std::vector<std::unique_ptr<DeviceState>> make_states() {
  std::vector<std::unique_ptr<DeviceState>> states;
  for (int i = 0; i < device_count(); ++i) states.push_back(std::make_unique<DeviceState>(i));
  return states;
}

}  // namespace

DeviceState::DeviceState(int index)
    : events_(index, EventPool::Times::without, recent_ops_),
      timed_events_(index, EventPool::Times::with, recent_ops_),
      memory_({[index](std::size_t bytes) { return allocate_on(index, bytes); },
               [index](std::byte* memory, std::size_t) { release_on(index, memory); },
               [this] { return work_so_far(); }}) {}

std::vector<Event> DeviceState::work_so_far() {
  std::lock_guard lock(mutex_);
  std::erase_if(ended_, [](const Event& event) { return event.done(); });
  auto events = ended_;
  for (auto* stream : streams_) events.push_back(stream->last_launched());
  return events;
}

void DeviceState::add(CudaStream& stream) {
  std::lock_guard lock(mutex_);
  streams_.insert(&stream);
}

void DeviceState::remove(CudaStream& stream) noexcept {
  std::lock_guard lock(mutex_);
  streams_.erase(&stream);
  ended_.push_back(stream.last_launched());
}

int device_count() {
  static const int kCount = [] {
    int count = 0;
    const bool counted = cudaGetDeviceCount(&count) == cudaSuccess;
    if (!counted) (void)cudaGetLastError();
    return counted ? count : 0;
  }();
  return kCount;
}

DeviceState& device_state(Device device) {
  static const auto& states = *new auto(make_states());
  if (device.index < 0 || static_cast<std::size_t>(device.index) >= states.size())
    throw Error("device", "there is no " + to_string(device) +
                              (states.empty() ? ": this machine has no GPU that CUDA can use"
                                              : "; this machine has " + std::to_string(states.size()) + " GPUs"));
  return *states[static_cast<std::size_t>(device.index)];
}

}  // namespace troupe::cuda
