#include "troupe/transport/membership/group_list.hpp"

#include <algorithm>

namespace troupe {

namespace {

constexpr int kAnyProcess = -1;

}  // namespace

void GroupList::add(const std::shared_ptr<Communicator>& group, std::vector<int> processes) {
  FailurePtr lost;
  {
    std::lock_guard lock(mutex_);
    std::erase_if(entries_, [](const Entry& entry) { return entry.group.expired(); });
    entries_.push_back({group, std::move(processes)});
    lost = lost_;
  }
  if (lost) group->abort(lost);
}

std::vector<std::shared_ptr<Communicator>> GroupList::alive(int process) const {
  std::vector<std::shared_ptr<Communicator>> groups;
  for (const auto& [weak, processes] : entries_) {
    const bool concerned = process == kAnyProcess || std::ranges::find(processes, process) != processes.end();
    if (auto group = concerned ? weak.lock() : nullptr) groups.push_back(std::move(group));
  }
  return groups;
}

void GroupList::lose(int process, const FailurePtr& why) {
  std::unique_lock lock(mutex_);
  const auto groups = alive(process);
  lock.unlock();
  for (const auto& group : groups) group->abort(why);
}

void GroupList::lose_all(const FailurePtr& why) {
  {
    std::lock_guard lock(mutex_);
    lost_ = why;
  }
  lose(kAnyProcess, why);
}

}  // namespace troupe
