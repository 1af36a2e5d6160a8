#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace troupe::testing {

/// Memory with two addresses: a closed one without access rights, which tensors have, and an open one through which the
/// devices compute. Thread-safe.
class DeviceMemory {
 public:
  DeviceMemory();
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// Allocates zeroed memory. Returns its closed address. Throws Error if out of memory.
  std::byte* allocate(std::size_t bytes);
  void release(std::byte* closed, std::size_t bytes);

  /// Whether the address is a closed one.
  bool is_closed(const std::byte* address) const { return address >= closed_ && address < closed_ + kBytes; }
  /// The open address of a closed one. Another address, of host memory, is returned unchanged.
  std::byte* open(const std::byte* address) const;

  std::size_t bytes_in_use() const;
  /// Limits bytes_in_use(): allocations beyond fail.
  void set_limit(std::size_t bytes);

 private:
  static constexpr std::size_t kBytes = std::size_t{4} << 30;

  std::byte* closed_ = nullptr;
  std::byte* open_ = nullptr;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::size_t> free_;  // offset -> bytes, no two of them adjacent
  std::size_t in_use_ = 0, limit_ = kBytes;
};

}  // namespace troupe::testing
