#pragma once

#include <cstddef>
#include <memory>

#include "troupe/ops/core/device.hpp"
#include "troupe/ops/core/dtype.hpp"
#include "troupe/ops/core/stream.hpp"

namespace troupe {

class KernelTable;

/// Interface of the code for one device type: a backend provides the memory, the streams and the kernels of all devices
/// of the type. Only backends contain code that depends on the device type. Thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;

  /// True if host code may read and write the memory that allocate() returns.
  virtual bool host_accessible() const = 0;
  /// The number of devices of this type on the machine. The CPU backend, whose devices are threads, returns the largest
  /// int.
  virtual int device_count() const = 0;
  /// Returns zeroed memory on a device, aligned to 64 bytes; null for 0 bytes. The memory may be released while queued
  /// work still uses it: the backend reuses it only after that work. Throws Error if the device does not exist or is
  /// out of memory.
  virtual std::shared_ptr<std::byte> allocate(Device device, std::size_t bytes) = 0;
  /// Returns zeroed host memory, pinned for asynchronous copies to and from the devices, or ordinary memory if the
  /// devices are the host itself. Null for 0 bytes.
  virtual std::shared_ptr<std::byte> allocate_pinned(std::size_t bytes) = 0;

  /// Returns a new stream on a device. Throws Error if the device does not exist.
  virtual std::unique_ptr<Stream> make_stream(Device device) = 0;
  /// Blocks until all work launched on any stream of the device is complete. Rethrows the error of work that has
  /// failed.
  virtual void synchronize(Device device) = 0;

  /// True if kernels of products multiply factors of a float dtype without converting them to float32.
  virtual bool has_products_of(DType) const { return true; }

  /// The table of the kernels that run on devices of this type; see ops/graph/kernel.hpp.
  virtual KernelTable& kernels() = 0;
};

/// The backend of a device type. Throws Error if there is none.
Backend& backend_of(DeviceType type);
/// The backend of the type of a device. Throws Error that names the device if there is none.
Backend& backend_of(Device device);

/// The number of devices of a type on this machine; 0 without a backend for the type.
int device_count(DeviceType type);
/// True if the type has a backend, even if the machine has no device of the type.
bool has_backend(DeviceType type);

/// Makes `backend` the backend of a device type until the process ends. Throws Error if the type has a backend or
/// `backend` is null. The backends of the library are registered from the start.
void register_backend(DeviceType type, std::unique_ptr<Backend> backend);

}  // namespace troupe
