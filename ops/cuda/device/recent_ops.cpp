#include "troupe/ops/cuda/device/recent_ops.hpp"

#include <algorithm>
#include <vector>

namespace troupe::cuda {

void RecentOps::add(const char* op) {
  std::lock_guard lock(mutex_);
  ops_[count_++ % kKept] = op;
}

std::string RecentOps::names() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> unique_names;
  for (auto number = count_ - std::min(count_, kKept); number < count_; ++number) {
    std::string name = ops_[number % kKept];
    if (std::ranges::find(unique_names, name) == unique_names.end()) unique_names.push_back(std::move(name));
  }
  std::string text;
  for (const auto& name : unique_names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace troupe::cuda
