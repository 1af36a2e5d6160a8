#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "troupe/ops/core/stream.hpp"

namespace troupe {

/// The functions of a device from which a pool gets its memory. The pool calls them under its lock.
struct MemorySource {
  /// Returns new memory, or null if the device is out of memory.
  std::function<std::byte*(std::size_t bytes)> allocate;
  std::function<void(std::byte* memory, std::size_t bytes)> release;
  /// Returns events after all work that may use memory released now; none if the device is idle.
  std::function<std::vector<Event>()> work_so_far;
};

/// Memory of one device, kept for reuse. A block may be released while work that uses it is queued; it is reused only
/// after that work. Thread-safe.
class MemoryPool {
 public:
  static constexpr std::size_t kAlignment = 256;

  explicit MemoryPool(MemorySource source) : source_(std::move(source)) {}
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// A block of at least `bytes`, which is not 0. Its contents are not set. A device that is out of memory first gets
  /// all cached blocks back; null if that does not suffice.
  std::byte* allocate(std::size_t bytes);
  /// Releases a block that came from allocate(bytes).
  void release(std::byte* block, std::size_t bytes) noexcept;
  /// Gives cached memory back to the device, after waiting for the work that uses it.
  void trim() noexcept;

  std::size_t bytes_in_use() const;
  /// Bytes in use or cached.
  std::size_t bytes_held() const;

  /// The size of a block of `bytes`: rounded up to the alignment.
  static std::size_t rounded(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

 private:
  /// A released block that queued work may still use.
  struct Released {
    std::byte* block;
    std::size_t bytes;
    std::vector<Event> last_uses;
  };

  std::byte* take_cached(std::size_t bytes);
  /// Moves released blocks to the cache if their work is done.
  void collect_released();
  void give_back_cached();

  mutable std::mutex mutex_;
  MemorySource source_;
  std::vector<Released> released_;
  std::map<std::size_t, std::vector<std::byte*>> cached_;  // by size of the block
  std::size_t in_use_ = 0, held_ = 0;
};

}  // namespace troupe
