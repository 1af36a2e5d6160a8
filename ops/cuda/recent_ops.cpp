#include "troupe/ops/cuda/recent_ops.hpp"

#include <algorithm>
#include <vector>

namespace troupe::cuda {

void RecentOps::add(const char* op) {
  std::lock_guard lock(mutex_);
  ops_[count_++ % kKept] = op;
}

std::uint64_t RecentOps::count() const {
  std::lock_guard lock(mutex_);
  return count_;
}

std::string RecentOps::names(std::uint64_t first, std::uint64_t end) const {
  std::lock_guard lock(mutex_);
  first = std::max(first, count_ > kKept ? count_ - kKept : 0);
  std::vector<std::string> found;
  for (auto number = first; number < end; ++number) {
    std::string name = ops_[number % kKept];
    if (std::ranges::find(found, name) == found.end()) found.push_back(std::move(name));
  }
  std::string text;
  for (const auto& name : found) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace troupe::cuda
