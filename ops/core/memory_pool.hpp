#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "troupe/ops/core/stream.hpp"

namespace troupe {

/// Where a pool's memory comes from. Called under the pool's lock.
struct MemorySource {
  /// New memory, or null if there is none.
  std::function<std::byte*(std::size_t bytes)> allocate;
  std::function<void(std::byte* memory, std::size_t bytes)> release;
  /// Events after all work that may still use memory released now; none if the device is idle.
  std::function<std::vector<Event>()> work_so_far;
};

/// Memory of one device, kept for reuse. A block may be released while work that uses it is queued: it is given out
/// again only after that work. Thread-safe.
class MemoryPool {
 public:
  static constexpr std::size_t kAlignment = 256;

  explicit MemoryPool(MemorySource source) : source_(std::move(source)) {}
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// A block of at least `bytes`, which is not 0, with any contents. Null if out of memory, after all that is cached
  /// was given back to the device.
  std::byte* allocate(std::size_t bytes);
  /// Releases a block that came from allocate(bytes).
  void release(std::byte* block, std::size_t bytes) noexcept;
  /// Gives cached memory back to the device. Waits for the work that still uses it.
  void trim() noexcept;

  std::size_t bytes_in_use() const;
  /// In use and cached.
  std::size_t bytes_held() const;

  /// `bytes` as the pool counts them.
  static std::size_t rounded(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

 private:
  struct Released {
    std::byte* block;
    std::size_t bytes;
    std::vector<Event> last_uses;
  };

  std::byte* take_cached(std::size_t bytes);
  void collect_released();
  void give_back_cached();

  mutable std::mutex mutex_;
  MemorySource source_;
  std::vector<Released> released_;                         // work may still use them
  std::map<std::size_t, std::vector<std::byte*>> cached_;  // by size
  std::size_t in_use_ = 0, held_ = 0;
};

}  // namespace troupe
