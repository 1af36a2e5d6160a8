#include "troupe/tests/test_device/device_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "troupe/ops/core/allocator.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe::testing {

namespace {

std::byte* map(int file, std::size_t bytes, int rights) {
  auto* address = mmap(nullptr, bytes, rights, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (address == MAP_FAILED) throw Error("test device", "the memory cannot be mapped");
  return static_cast<std::byte*>(address);
}

}  // namespace

DeviceMemory::DeviceMemory() : free_{{0, kBytes}} {
  const int file = memfd_create("troupe test device", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(kBytes)) != 0)
    throw Error("test device", "no memory file can be made");
  closed_ = map(file, kBytes, PROT_NONE);
  open_ = map(file, kBytes, PROT_READ | PROT_WRITE);
  close(file);
}

DeviceMemory::~DeviceMemory() {
  munmap(closed_, kBytes);
  munmap(open_, kBytes);
}

std::byte* DeviceMemory::allocate(std::size_t bytes) {
  const auto size = Allocator::rounded(bytes);
  std::lock_guard lock(mutex_);
  const auto gap = std::find_if(free_.begin(), free_.end(), [&](const auto& entry) { return entry.second >= size; });
  if (gap == free_.end() || size < bytes || in_use_ + size > limit_)
    throw Error("test device", "out of memory: " + std::to_string(bytes) + " bytes requested");
  const auto [offset, room] = *gap;
  free_.erase(gap);
  if (room > size) free_[offset + size] = room - size;
  in_use_ += size;
  std::memset(open_ + offset, 0, size);
  return closed_ + offset;
}

void DeviceMemory::release(std::byte* closed, std::size_t bytes) {
  auto size = Allocator::rounded(bytes);
  auto offset = static_cast<std::size_t>(closed - closed_);
  std::lock_guard lock(mutex_);
  in_use_ -= size;
  // A later reader reads NaN.
  std::memset(open_ + offset, 0xFF, size);
  const auto next = free_.lower_bound(offset);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      offset = before->first;
      size += before->second;
      free_.erase(before);
    }
  }
  if (next != free_.end() && next->first == offset + size) {
    size += next->second;
    free_.erase(next);
  }
  free_[offset] = size;
}

std::byte* DeviceMemory::open(const std::byte* address) const {
  return is_closed(address) ? open_ + (address - closed_) : const_cast<std::byte*>(address);
}

void DeviceMemory::set_limit(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  limit_ = std::min(bytes, kBytes);
}

std::size_t DeviceMemory::bytes_in_use() const {
  std::lock_guard lock(mutex_);
  return in_use_;
}

}  // namespace troupe::testing
