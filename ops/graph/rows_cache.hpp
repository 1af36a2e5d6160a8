#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace troupe {

/// A cache of objects, each prepared for a number of rows or another key. A full cache drops the least recently used
/// entry to add a new one. A reference to an entry is valid until the entry is dropped.
template <class T, class Key = std::int64_t>
class RowsCache {
 public:
  /// Keeps at most `capacity` entries; `capacity` must be at least 1.
  explicit RowsCache(std::size_t capacity) : capacity_(capacity) {}

  /// The entry for a key, which becomes the most recently used one; null if the cache has no entry for the key.
  T* find(const Key& key) {
    const auto entry = std::ranges::find(entries_, key, &Entry::key);
    if (entry == entries_.end()) return nullptr;
    entry->last_use = ++uses_;
    return entry->value.get();
  }
  /// Adds an entry and returns a reference to its value. The cache must not have an entry for the key.
  T& add(const Key& key, T value) {
    if (entries_.size() == capacity_) entries_.erase(std::ranges::min_element(entries_, {}, &Entry::last_use));
    entries_.push_back({key, ++uses_, std::make_unique<T>(std::move(value))});
    return *entries_.back().value;
  }
  template <class Function>
  void for_each(Function function) const {
    for (const auto& entry : entries_) function(*entry.value);
  }

 private:
  struct Entry {
    Key key;
    std::uint64_t last_use;
    std::unique_ptr<T> value;
  };

  std::size_t capacity_;
  std::uint64_t uses_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace troupe
