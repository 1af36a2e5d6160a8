#include "troupe/ops/core/backend.hpp"

#include <atomic>

#include "troupe/ops/core/built_in_backends.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

/// Returns the pointer through which the library finds the backend of a device type. The pointer is null until the type
/// has a backend. Backends are never destroyed, because tensors may be dropped after main has returned.
std::atomic<Backend*>& slot_of(DeviceType type) {
  static std::atomic<Backend*> slots[kDeviceTypes] = {make_cpu_backend().release(), make_cuda_backend().release()};
  return slots[static_cast<std::size_t>(type)];
}

[[noreturn]] void refuse_missing_backend(const std::string& device) {
  throw Error("device", "this build has no backend for " + device);
}

}  // namespace

Backend& backend_of(DeviceType type) {
  auto* backend = slot_of(type).load();
  if (backend == nullptr) refuse_missing_backend(std::string(name_of(type)));
  return *backend;
}

Backend& backend_of(Device device) {
  auto* backend = slot_of(device.type).load();
  if (backend == nullptr) refuse_missing_backend(to_string(device));
  return *backend;
}

int device_count(DeviceType type) {
  const auto* backend = slot_of(type).load();
  return backend == nullptr ? 0 : backend->device_count();
}

bool has_backend(DeviceType type) {
  return slot_of(type).load() != nullptr;
}

void register_backend(DeviceType type, std::unique_ptr<Backend> backend) {
  if (backend == nullptr) throw Error("device", "no backend was given for " + std::string(name_of(type)));
  Backend* none = nullptr;
  if (!slot_of(type).compare_exchange_strong(none, backend.get()))
    throw Error("device", std::string(name_of(type)) + " has a backend already");
  (void)backend.release();
}

}  // namespace troupe
