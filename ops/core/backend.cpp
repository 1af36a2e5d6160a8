#include "troupe/ops/core/backend.hpp"

#include <array>
#include <atomic>

#include "troupe/ops/core/built_in_backends.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

/// The backend of every device type, if there is one. Thread-safe.
class Backends {
 public:
  Backends() {
    add(DeviceType::cpu, make_cpu_backend());
    add(DeviceType::cuda, make_cuda_backend());
  }

  Backend* find(DeviceType type) const { return backends_[static_cast<std::size_t>(type)].load(); }

  /// Returns false if the type has a backend already.
  bool add(DeviceType type, std::unique_ptr<Backend> backend) {
    Backend* none = nullptr;
    const bool added = backends_[static_cast<std::size_t>(type)].compare_exchange_strong(none, backend.get());
    if (added) (void)backend.release();
    return added;
  }

 private:
  std::array<std::atomic<Backend*>, kDeviceTypes> backends_{};
};

/// The table is never destroyed, because tensors may be dropped after main has returned.
Backends& backends() {
  static auto& table = *new Backends;
  return table;
}

[[noreturn]] void refuse_missing_backend(const std::string& device) {
  throw Error("device", "this build has no backend for " + device);
}

}  // namespace

Backend& backend_of(DeviceType type) {
  auto* backend = backends().find(type);
  if (backend == nullptr) refuse_missing_backend(std::string(name_of(type)));
  return *backend;
}

Backend& backend_of(Device device) {
  auto* backend = backends().find(device.type);
  if (backend == nullptr) refuse_missing_backend(to_string(device));
  return *backend;
}

int device_count(DeviceType type) {
  const auto* backend = backends().find(type);
  return backend == nullptr ? 0 : backend->device_count();
}

bool has_backend(DeviceType type) {
  return backends().find(type) != nullptr;
}

void register_backend(DeviceType type, std::unique_ptr<Backend> backend) {
  if (backend == nullptr) throw Error("device", "no backend was given for " + std::string(name_of(type)));
  if (!backends().add(type, std::move(backend)))
    throw Error("device", std::string(name_of(type)) + " has a backend already");
}

}  // namespace troupe
