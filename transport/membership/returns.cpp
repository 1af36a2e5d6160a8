#include "troupe/transport/membership/returns.hpp"

#include <utility>

namespace troupe {

std::shared_ptr<const Cluster::OnReturned> Returns::add(Cluster::OnReturned callback) {
  std::lock_guard lock(mutex_);
  auto handle = std::make_shared<const Cluster::OnReturned>(std::move(callback));
  std::erase_if(callbacks_, [](const auto& earlier) { return earlier.expired(); });
  callbacks_.push_back(handle);
  return handle;
}

void Returns::count(int rank) {
  std::vector<std::weak_ptr<const Cluster::OnReturned>> callbacks;
  {
    std::lock_guard lock(mutex_);
    ++counts_[rank];
    callbacks = callbacks_;
  }
  for (const auto& callback : callbacks)
    if (const auto function = callback.lock()) (*function)(rank);
}

int Returns::of(int rank) const {
  std::lock_guard lock(mutex_);
  const auto count = counts_.find(rank);
  return count != counts_.end() ? count->second : 0;
}

}  // namespace troupe
