#pragma once

#include <cstddef>
#include <memory>

#include "troupe/ops/core/device.hpp"
#include "troupe/ops/core/stream.hpp"

namespace troupe {

class KernelTable;

/// Everything specific to one kind of device: its memory, streams and kernels. All other code goes through it.
/// Thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;

  /// True if the host may read and write the memory of these devices.
  virtual bool host_accessible() const = 0;
  /// How many of these devices the machine has. For devices that are threads, as many as there may be.
  virtual int device_count() const = 0;
  /// Zeroed memory on a device, 64-byte aligned; null for 0 bytes. It may be released while work that uses it is
  /// queued: it is reused only after that work. Throws Error if there is no such device or if out of memory.
  virtual std::shared_ptr<std::byte> allocate(Device device, std::size_t bytes) = 0;
  /// Zeroed host memory, pinned for asynchronous copies to and from these devices.
  virtual std::shared_ptr<std::byte> allocate_pinned(std::size_t bytes) = 0;

  /// A new stream. Throws Error if there is no such device.
  virtual std::unique_ptr<Stream> make_stream(Device device) = 0;
  /// Blocks until all work that was launched on any stream of the device is complete.
  virtual void synchronize(Device device) = 0;

  /// The kernels for these devices; see ops/graph/kernel_table.hpp.
  virtual KernelTable& kernels() = 0;
};

/// The backend of a kind of device. Throws Error if there is none.
Backend& backend_of(DeviceType type);
/// As above; the error names the device.
Backend& backend_of(Device device);

/// How many devices of a kind this machine has; 0 if there is no backend for them.
int device_count(DeviceType type);
/// Whether there is a backend for a kind of device, though the machine may have no such device.
bool has_backend(DeviceType type);

/// Adds a backend for a kind of device, until the process ends. Throws Error if the kind has one. Those of the library
/// are registered from the start.
void register_backend(DeviceType type, std::unique_ptr<Backend> backend);

}  // namespace troupe
