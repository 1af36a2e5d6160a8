#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace troupe {

/// What is kept for the numbers of rows met lately. The one that was not used for longest makes way for a new one;
/// references are valid until then.
template <class T>
class RowsCache {
 public:
  /// Keeps at most `most`, which is not 0.
  explicit RowsCache(std::size_t most) : most_(most) {}

  /// Null if there is nothing for so many rows.
  T* find(std::int64_t rows) {
    const auto found = std::ranges::find(entries_, rows, &Entry::rows);
    if (found == entries_.end()) return nullptr;
    found->last_use = ++uses_;
    return found->value.get();
  }
  T& add(std::int64_t rows, T value) {
    if (entries_.size() == most_) entries_.erase(std::ranges::min_element(entries_, {}, &Entry::last_use));
    entries_.push_back({rows, ++uses_, std::make_unique<T>(std::move(value))});
    return *entries_.back().value;
  }
  template <class Function>
  void for_each(Function function) const {
    for (const auto& entry : entries_) function(*entry.value);
  }

 private:
  struct Entry {
    std::int64_t rows;
    std::uint64_t last_use;
    std::unique_ptr<T> value;
  };

  std::size_t most_;
  std::uint64_t uses_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace troupe
