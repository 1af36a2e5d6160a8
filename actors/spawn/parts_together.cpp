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

using Ends = std::vector<std::shared_ptr<Communicator>>;

/// The ends of a communicator on devices, in the order of its processes.
Ends make_device_ends(const PlanCommunicator& named) {
  const auto processes = processes_of(named);
  const auto across = make_local_group(static_cast<int>(processes.size()));
  Ends ends(processes.size());
  make_together(processes.size(), [&](std::size_t i, const std::function<void()>& check) {
    const auto rank = [&, i](const std::string&, const std::vector<int>&) { return across[i]; };
    ends[i] = make_device_communicator(named, processes[i], {.make_across = rank, .check = check});
  });
  return ends;
}

}  // namespace

void make_communicators(const Plan& plan, std::vector<PartSetup>& parts) {
  for (const auto& named : plan.communicators) {
    const bool given = std::any_of(parts.begin(), parts.end(), [&](const PartSetup& part) {
      return part.context.communicators.contains(named.name);
    });
    if (given) continue;
    const auto ends =
        named.devices.empty() ? make_local_group(static_cast<int>(named.processes.size())) : make_device_ends(named);
    for (const auto& end : ends)
      parts[static_cast<std::size_t>(named.processes[end->rank()])].context.communicators[named.name].push_back(end);
  }
}

std::vector<std::map<int, std::shared_ptr<Link>>> make_links(int parts) {
  std::vector<std::map<int, std::shared_ptr<Link>>> links(static_cast<std::size_t>(parts));
  for (int a = 0; a < parts; ++a)
    for (int b = a + 1; b < parts; ++b) std::tie(links[a][b], links[b][a]) = make_memory_link();
  return links;
}

}  // namespace troupe
