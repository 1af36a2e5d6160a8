#pragma once

#include <cstddef>
#include <cstdint>

#include "troupe/ops/core/device.hpp"

namespace troupe::testing {

/// Test devices, `test:0` to `test:15`, behave like GPUs and compute with the CPU's bits. The host can never access
/// their memory: the addresses of their tensors are mapped without access rights, and kernels use another mapping. Work
/// is queued when it is launched and runs later on a thread of the devices, in the order of each stream. The order
/// between streams depends on a seed, so that a missing event is detected sooner or later.

/// Registers the backend. Further calls do nothing. Thread-safe.
void register_test_devices();

/// The device `test:index`, registered.
Device test_device(int index = 0);

/// Holds work: while it lives, launched work stays queued. The destructor runs the work in an order that depends only
/// on `seed`, if nothing is launched meanwhile. The constructor blocks until earlier work is complete and its memory
/// released.
class HeldTestDevices {
 public:
  explicit HeldTestDevices(std::uint64_t seed);
  ~HeldTestDevices();
  HeldTestDevices(const HeldTestDevices&) = delete;
  HeldTestDevices& operator=(const HeldTestDevices&) = delete;

  /// Blocks until `pieces` pieces of work (kernels, copies, waits for events, records of events) are queued. Throws
  /// Error if that takes too long.
  void wait_until_queued(std::size_t pieces) const;

 private:
  std::uint64_t seed_;
};

/// While it lives, every piece of work begins up to 100 us late, so that hosts run ahead and streams drift apart.
class DelayedTestDevices {
 public:
  DelayedTestDevices();
  ~DelayedTestDevices();
  DelayedTestDevices(const DelayedTestDevices&) = delete;
  DelayedTestDevices& operator=(const DelayedTestDevices&) = delete;
};

/// The bytes of tensors on test devices, in blocks of 64. Waits like HeldTestDevices, because a device releases the
/// tensors of its work only after it has notified the host that the work is complete.
std::size_t test_device_bytes_in_use();

/// While it lives, test devices have no memory beyond that in use.
class FullTestDevices {
 public:
  FullTestDevices();
  ~FullTestDevices();
  FullTestDevices(const FullTestDevices&) = delete;
  FullTestDevices& operator=(const FullTestDevices&) = delete;
};

/// The number of events that streams of test devices have recorded and waited for so far.
std::size_t test_device_events();

}  // namespace troupe::testing
