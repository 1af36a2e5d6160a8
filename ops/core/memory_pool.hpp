#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "troupe/ops/core/stream.hpp"

namespace troupe {

/// Functions that allocate and release memory of one device. MemoryPool calls them while it holds its mutex.
struct MemorySource {
  /// Returns new memory, or null if the device is out of memory.
  std::function<std::byte*(std::size_t bytes)> allocate;
  std::function<void(std::byte* memory, std::size_t bytes)> release;
  /// Returns events that are done once all work launched so far on the device is complete; no events if the device is
  /// idle. A block released now may be reused after these events.
  std::function<std::vector<Event>()> work_so_far;
};

/// Allocates memory of one device and caches released blocks for reuse. A block may be released while queued work still
/// uses it; the pool reuses the block only after that work. Thread-safe.
class MemoryPool {
 public:
  static constexpr std::size_t kAlignment = 256;

  explicit MemoryPool(MemorySource source) : source_(std::move(source)) {}
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// Returns a block of at least `bytes`, which must not be 0. The contents are not set. If the device is out of
  /// memory, waits for the work that uses released blocks, at most 10 seconds for each event, gives all cached blocks
  /// back to the device and tries again. Returns null if the device is still out of memory.
  std::byte* allocate(std::size_t bytes);
  /// Releases a block that came from allocate(bytes); ignores null. Does not wait for work that uses the block.
  void release(std::byte* block, std::size_t bytes) noexcept;
  /// Waits for the work that uses released blocks, at most 10 seconds for each event, and gives all cached blocks back
  /// to the device. A block whose work is not complete by then stays in the pool.
  void trim() noexcept;

  std::size_t bytes_in_use() const;
  /// Bytes of all blocks that came from the device: in use, released or cached.
  std::size_t bytes_held() const;

  /// The size of the block that allocate(bytes) returns: `bytes` rounded up to the alignment.
  static std::size_t rounded(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

 private:
  /// A released block, with the events after which no queued work uses it.
  struct Released {
    std::byte* block;
    std::size_t bytes;
    std::vector<Event> last_uses;
  };

  std::byte* take_cached(std::size_t bytes);
  /// Moves the released blocks whose last uses are done to the cache.
  void collect_released();
  void give_back_cached();

  mutable std::mutex mutex_;
  MemorySource source_;
  std::vector<Released> released_;
  std::map<std::size_t, std::vector<std::byte*>> cached_;  // cached blocks by their size
  std::size_t in_use_ = 0, held_ = 0;
};

}  // namespace troupe
