#include "troupe/ops/core/memory_pool.hpp"

#include <algorithm>
#include <chrono>

namespace troupe {

namespace {

/// Limit of the wait for one event after the last work that uses a released block.
constexpr std::chrono::seconds kWaitLimit{10};

/// Waits at most kWaitLimit for each event. An event whose work has failed counts as done.
void wait_for(const std::vector<Event>& events) noexcept {
  for (const auto& event : events)
    if (event.state() != nullptr) (void)event.state()->wait_for(kWaitLimit);
}

}  // namespace

MemoryPool::~MemoryPool() {
  trim();
}

std::byte* MemoryPool::allocate(std::size_t bytes) {
  const auto size = rounded(bytes);
  if (size < bytes) return nullptr;
  std::lock_guard lock(mutex_);
  collect_released();
  auto* block = take_cached(size);
  if (block == nullptr) {
    block = source_.allocate(size);
    if (block == nullptr) {
      for (const auto& entry : released_) wait_for(entry.last_uses);
      collect_released();
      give_back_cached();
      block = source_.allocate(size);
    }
    if (block != nullptr) held_ += size;
  }
  if (block != nullptr) in_use_ += size;
  return block;
}

void MemoryPool::release(std::byte* block, std::size_t bytes) noexcept {
  if (block == nullptr) return;
  std::lock_guard lock(mutex_);
  in_use_ -= rounded(bytes);
  released_.push_back({block, rounded(bytes), source_.work_so_far()});
  collect_released();
}

void MemoryPool::trim() noexcept {
  std::lock_guard lock(mutex_);
  for (const auto& entry : released_) wait_for(entry.last_uses);
  collect_released();
  give_back_cached();
}

std::size_t MemoryPool::bytes_in_use() const {
  std::lock_guard lock(mutex_);
  return in_use_;
}

std::size_t MemoryPool::bytes_held() const {
  std::lock_guard lock(mutex_);
  return held_;
}

std::byte* MemoryPool::take_cached(std::size_t bytes) {
  const auto entry = cached_.find(bytes);
  if (entry == cached_.end() || entry->second.empty()) return nullptr;
  auto* block = entry->second.back();
  entry->second.pop_back();
  return block;
}

void MemoryPool::collect_released() {
  std::erase_if(released_, [&](const Released& entry) {
    if (!std::ranges::all_of(entry.last_uses, &Event::done)) return false;
    cached_[entry.bytes].push_back(entry.block);
    return true;
  });
}

void MemoryPool::give_back_cached() {
  for (auto& [bytes, blocks] : cached_) {
    for (auto* block : blocks) source_.release(block, bytes);
    held_ -= bytes * blocks.size();
  }
  cached_.clear();
}

}  // namespace troupe
