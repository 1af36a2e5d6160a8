#include "troupe/actors/spawn/parts_together.hpp"

#include <algorithm>
#include <functional>
#include <future>
#include <mutex>

#include "troupe/actors/collective/device_groups.hpp"

namespace troupe {

namespace {

/// Runs a function for every part at the same time, because the parts wait for each other. Throws the exception of the
/// first part that fails; `check`, which the functions call meanwhile, ends the others.
template <class Make>
void make_together(std::size_t count, const Make& make) {
  std::mutex mutex;
  std::exception_ptr first;
  const auto check = [&] {
    std::lock_guard lock(mutex);
    if (first) std::rethrow_exception(first);
  };
  std::vector<std::future<void>> making;
  for (std::size_t i = 0; i < count; ++i)
    making.push_back(std::async(std::launch::async, [&, i] {
      try {
        make(i, check);
      } catch (...) {
        std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
    }));
  for (auto& one : making) one.wait();
  check();
}

void make_device_communicators(const PlanCommunicator& named, std::vector<PartSetup>& parts) {
  const auto processes = processes_of(named);
  const auto communicator_of = [&](std::size_t i) -> auto& {
    return parts[static_cast<std::size_t>(processes[i])].context.device_communicators[named.name];
  };
  if (communicator_of(0)) return;
  const auto across = make_local_group(static_cast<int>(processes.size()));
  make_together(processes.size(), [&](std::size_t i, const std::function<void()>& check) {
    const auto rank = [&, i](const std::string&, const std::vector<int>&) { return across[i]; };
    communicator_of(i) = make_device_communicator(named, processes[i], {.make_across = rank, .check = check});
  });
}

}  // namespace

void make_communicators(const Plan& plan, std::vector<PartSetup>& parts) {
  for (const auto& named : plan.communicators) {
    if (!named.devices.empty()) {
      make_device_communicators(named, parts);
      continue;
    }
    const bool given = std::any_of(parts.begin(), parts.end(), [&](const PartSetup& part) {
      return part.context.communicators.contains(named.name);
    });
    if (given) continue;
    const auto group = make_local_group(static_cast<int>(named.processes.size()));
    for (std::size_t process = 0; process < parts.size(); ++process) {
      auto& ranks = parts[process].context.communicators[named.name];
      ranks.resize(group.size());
      for (std::size_t rank = 0; rank < group.size(); ++rank)
        if (named.processes[rank] == static_cast<int>(process)) ranks[rank] = group[rank];
    }
  }
}

std::vector<std::map<int, std::shared_ptr<Link>>> make_links(int parts) {
  std::vector<std::map<int, std::shared_ptr<Link>>> links(static_cast<std::size_t>(parts));
  for (int a = 0; a < parts; ++a)
    for (int b = a + 1; b < parts; ++b) std::tie(links[a][b], links[b][a]) = make_memory_link();
  return links;
}

}  // namespace troupe
