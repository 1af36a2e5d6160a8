#pragma once

#include <cstddef>
#include <cstdint>

#include "troupe/ops/core/device.hpp"

namespace troupe::testing {

/// A kind of device for tests, `test:0` to `test:15`, that behaves like a GPU and computes with the CPU's bits. Its
/// memory is never accessible to the host: the addresses of its tensors are mapped without any right, and kernels work
/// through another mapping. Work is queued when it is launched and runs later on a thread of the devices' own, in the
/// order of each stream; which stream goes on is drawn from a seed, so that an order that only an event would ensure is
/// missed sooner or later.

/// Registers the backend; again does nothing. Thread-safe.
void register_test_devices();

/// `test:index`, registered.
Device test_device(int index = 0);

/// Work that is launched while it lives stays queued; when it ends, that work runs in an order given by `seed` alone,
/// as long as nothing is launched meanwhile. Making one blocks until earlier work is complete and its memory released.
class HeldTestDevices {
 public:
  explicit HeldTestDevices(std::uint64_t seed);
  ~HeldTestDevices();
  HeldTestDevices(const HeldTestDevices&) = delete;
  HeldTestDevices& operator=(const HeldTestDevices&) = delete;

  /// Blocks until so many pieces of work (kernels, copies, waits for events, records of events) are queued. Throws
  /// Error if that takes too long.
  void wait_until_queued(std::size_t pieces) const;

 private:
  std::uint64_t seed_;
};

/// While it lives, every piece of work begins up to 100 us late, so that hosts run ahead and streams fall apart.
class DelayedTestDevices {
 public:
  DelayedTestDevices();
  ~DelayedTestDevices();
  DelayedTestDevices(const DelayedTestDevices&) = delete;
  DelayedTestDevices& operator=(const DelayedTestDevices&) = delete;
};

/// Bytes of tensors on test devices, in blocks of 64. Waits as HeldTestDevices does: a device lets go of the tensors of
/// its work only after it has told the host that the work is complete.
std::size_t test_device_bytes_in_use();

/// Events that streams of test devices have recorded and waited for so far.
std::size_t test_device_events();

}  // namespace troupe::testing
