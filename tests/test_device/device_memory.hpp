#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace troupe::testing {

/// Memory with two addresses: one without any right, which tensors have, and one through which the devices work.
/// Thread-safe.
class DeviceMemory {
 public:
  DeviceMemory();
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// Zeroed memory, by its closed address. Throws Error if out of memory.
  std::byte* allocate(std::size_t bytes);
  void release(std::byte* closed, std::size_t bytes);

  /// True if the address is one of those without any right.
  bool is_closed(const std::byte* address) const { return address >= closed_ && address < closed_ + kBytes; }
  /// The address through which a device works; that of the host's memory stays as it is.
  std::byte* open(const std::byte* address) const;

  std::size_t bytes_in_use() const;

 private:
  static constexpr std::size_t kBytes = std::size_t{4} << 30;

  std::byte* closed_ = nullptr;
  std::byte* open_ = nullptr;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::size_t> free_;  // offset -> bytes, no two of them adjacent
  std::size_t in_use_ = 0;
};

}  // namespace troupe::testing
