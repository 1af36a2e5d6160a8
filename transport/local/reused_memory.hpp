#pragma once

#include <cstddef>
#include <mutex>
#include <new>
#include <vector>

namespace troupe::local {

/// An allocator for std::allocate_shared, which allocates one object at a time. It uses the memory of destroyed objects
/// again, so that a training step allocates none. Thread-safe.
template <class T>
class ReusedMemory {
 public:
  using value_type = T;

  ReusedMemory() = default;
  template <class Other>
  ReusedMemory(const ReusedMemory<Other>& /*other*/) {}  // NOLINT: allocators convert

  T* allocate(std::size_t count) {
    auto& [mutex, memory] = spare();
    std::lock_guard lock(mutex);
    if (memory.empty()) return static_cast<T*>(::operator new(count * sizeof(T)));
    auto* const reused = memory.back();
    memory.pop_back();
    return reused;
  }
  void deallocate(T* object, std::size_t /*count*/) {
    auto& [mutex, memory] = spare();
    std::lock_guard lock(mutex);
    memory.push_back(object);
  }

  template <class Other>
  bool operator==(const ReusedMemory<Other>& /*other*/) const {
    return true;
  }

 private:
  struct Spare {
    std::mutex mutex;
    std::vector<T*> memory;
  };

  /// Returns the list with the memory of destroyed objects. The list is never destroyed, because an object may be
  /// destroyed after static variables.
  static Spare& spare() {
    static auto& kSpare = *new Spare();
    return kSpare;
  }
};

}  // namespace troupe::local
