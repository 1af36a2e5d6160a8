#include "troupe/ops/core/allocator.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "troupe/ops/core/error.hpp"

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) (static_cast<void>(address), static_cast<void>(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) (static_cast<void>(address), static_cast<void>(bytes))
#endif

namespace troupe {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Returns a new block, or null if the process is out of memory. A block of at least the size of a huge page begins at
/// one, and lies in huge pages as far as it fills them, if the system has them: kernels that go through tens of MiB
/// then wait less for the translation of addresses.
std::byte* new_block(std::size_t size) {
  void* block = nullptr;
  const bool is_huge = size >= kHugePage;
  if (posix_memalign(&block, is_huge ? kHugePage : Allocator::kAlignment, size) != 0) return nullptr;
  if (is_huge) (void)madvise(block, size / kHugePage * kHugePage, MADV_HUGEPAGE);
  return static_cast<std::byte*>(block);
}

}  // namespace

Allocator::~Allocator() {
  trim();
}

std::byte* Allocator::take_cached(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  auto entry = cached_.find(bytes);
  if (entry == cached_.end() || entry->second.empty()) return nullptr;
  auto* block = entry->second.back();
  entry->second.pop_back();
  cached_bytes_ -= bytes;
  ASAN_UNPOISON_MEMORY_REGION(block, bytes);
  return block;
}

std::byte* Allocator::allocate(std::size_t bytes, Contents contents) {
  const auto size = rounded(bytes);
  if (size < bytes) throw OutOfMemory("allocator", "a block of " + std::to_string(bytes) + " bytes is too large");
  if (size == 0) return nullptr;
  auto* block = take_cached(size);
  if (block == nullptr) block = new_block(size);
  if (block == nullptr) {
    trim();
    block = new_block(size);
  }
  if (block == nullptr) throw OutOfMemory("allocator", "out of memory: " + std::to_string(size) + " bytes requested");
  if (contents == Contents::zeros) std::memset(block, 0, size);
  const auto in_use = in_use_.fetch_add(size) + size;
  auto peak = peak_.load();
  while (in_use > peak && !peak_.compare_exchange_weak(peak, in_use)) {
  }
  return block;
}

void Allocator::release(std::byte* block, std::size_t bytes) noexcept {
  if (block == nullptr) return;
  in_use_ -= rounded(bytes);
  std::lock_guard lock(mutex_);
  if (cached_bytes_ + rounded(bytes) > kMaxCachedBytes) {
    std::free(block);
    return;
  }
  try {
    cached_[rounded(bytes)].push_back(block);
    cached_bytes_ += rounded(bytes);
    // AddressSanitizer reports an access to a poisoned block like an access to freed memory.
    ASAN_POISON_MEMORY_REGION(block, rounded(bytes));
  } catch (const std::bad_alloc&) {
    std::free(block);
  }
}

void Allocator::trim() noexcept {
  std::lock_guard lock(mutex_);
  for (auto& [bytes, blocks] : cached_)
    for (auto* block : blocks) {
      ASAN_UNPOISON_MEMORY_REGION(block, bytes);
      std::free(block);
    }
  cached_.clear();
  cached_bytes_ = 0;
}

const std::shared_ptr<Allocator>& cpu_allocator() {
  static const auto allocator = std::make_shared<Allocator>();
  return allocator;
}

std::shared_ptr<std::byte> cpu_memory(std::size_t bytes, Allocator::Contents contents) {
  const auto& allocator = cpu_allocator();
  return {allocator->allocate(bytes, contents),
          [allocator, bytes](std::byte* memory) { allocator->release(memory, bytes); }};
}

}  // namespace troupe
