#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace troupe {

/// Allocates the memory of CPU tensors in blocks aligned to 64 bytes. Keeps up to 256 MiB of released blocks for reuse,
/// so that repeated allocations of the same sizes need few system allocations. Thread-safe.
class Allocator {
 public:
  static constexpr std::size_t kAlignment = 64;

  ~Allocator();

  /// The contents of a new block. `zeros`: all bytes are 0. `any`: the bytes have no defined value.
  enum class Contents { zeros, any };
  /// Returns a block of at least `bytes` bytes; null for 0 bytes. Throws Error if the process is out of memory.
  std::byte* allocate(std::size_t bytes, Contents contents = Contents::zeros);
  /// Releases a block that came from `allocate(bytes)`: caches it for reuse, or frees it if the cache is full. Ignores
  /// null.
  void release(std::byte* block, std::size_t bytes) noexcept;

  /// Bytes of the blocks in use, each rounded up to the alignment. Cached blocks do not count.
  std::size_t bytes_in_use() const { return in_use_.load(std::memory_order_relaxed); }
  /// The maximum of bytes_in_use() since construction or, if later, the last reset_peak().
  std::size_t peak_bytes() const { return peak_.load(std::memory_order_relaxed); }
  void reset_peak() { peak_ = in_use_.load(); }

  /// Frees every cached block.
  void trim() noexcept;

  /// The size of the block that allocate(bytes) returns: `bytes` rounded up to the alignment.
  static std::size_t rounded(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

 private:
  /// Limit of the bytes of all cached blocks together. A released block that would exceed the limit is freed instead of
  /// cached.
  static constexpr std::size_t kMaxCachedBytes = std::size_t{256} << 20;

  /// Removes a block of exactly `bytes` from the cache and returns it; null if the cache has none.
  std::byte* take_cached(std::size_t bytes);

  std::mutex mutex_;
  std::map<std::size_t, std::vector<std::byte*>> cached_;  // cached blocks by their size
  std::size_t cached_bytes_ = 0;
  std::atomic<std::size_t> in_use_{0};
  std::atomic<std::size_t> peak_{0};
};

/// Returns the allocator of all CPU tensors of this process. The allocator outlives the last tensor.
const std::shared_ptr<Allocator>& cpu_allocator();

/// Returns at least `bytes` bytes of memory from cpu_allocator(); null for 0 bytes. The last handle releases the
/// memory. Use Contents::any for memory that will be overwritten completely. Throws Error if the process is out of
/// memory.
std::shared_ptr<std::byte> cpu_memory(std::size_t bytes, Allocator::Contents contents = Allocator::Contents::zeros);

}  // namespace troupe
