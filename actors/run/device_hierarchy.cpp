#include "troupe/actors/run/device_hierarchy.hpp"

#include <algorithm>

#include "troupe/transport/hierarchy/hierarchical_communicator.hpp"
#include "troupe/transport/nccl_group.hpp"

namespace troupe {

namespace {

/// Which processes of a communicator share a machine; machines are numbered in the order of their first processes.
class Machines {
 public:
  Machines(const PlanCommunicator& named, const Meeting& meeting) : named_(named), processes_(processes_of(named)) {
    std::vector<std::string> names;
    for (const int process : processes_) {
      const auto name = meeting.machine_of ? meeting.machine_of(process) : std::to_string(process);
      const auto found = std::ranges::find(names, name);
      numbers_.push_back(static_cast<int>(found - names.begin()));
      if (found == names.end()) {
        names.push_back(name);
        members_.emplace_back();
      }
      members_[static_cast<std::size_t>(numbers_.back())].push_back(process);
    }
  }

  const std::vector<int>& processes() const { return processes_; }
  /// The machine of every process, in their order.
  const std::vector<int>& numbers() const { return numbers_; }
  int number_of(int process) const {
    return numbers_[static_cast<std::size_t>(std::ranges::find(processes_, process) - processes_.begin())];
  }
  const std::vector<int>& members(int machine) const { return members_[static_cast<std::size_t>(machine)]; }

  std::vector<int> first_members() const {
    std::vector<int> first;
    for (const auto& members : members_) first.push_back(members.front());
    return first;
  }

  /// The ranks of the communicator on a machine.
  std::vector<std::size_t> ranks_on(int machine) const {
    std::vector<std::size_t> ranks;
    for (std::size_t rank = 0; rank < named_.devices.size(); ++rank)
      if (number_of(named_.processes[rank]) == machine) ranks.push_back(rank);
    return ranks;
  }

  /// Whether several processes of a machine sum over NCCL. All processes find the same.
  bool is_joined(int machine) const {
    std::vector<Device> devices;
    for (const auto rank : ranks_on(machine)) devices.push_back(named_.devices[rank]);
    return members(machine).size() > 1 && suits_nccl(devices);
  }
  bool is_any_joined() const {
    return std::ranges::any_of(numbers_, [this](int machine) { return is_joined(machine); });
  }

 private:
  const PlanCommunicator& named_;
  const std::vector<int> processes_;
  std::vector<int> numbers_;
  std::vector<std::vector<int>> members_;
};

/// What the processes of one machine call what they share.
std::string name_of(int machine) {
  return "/machine " + std::to_string(machine);
}

std::shared_ptr<DeviceCommunicator> make_machine_group(const PlanCommunicator& named, const Machines& machines,
                                                       int process, const Meeting& meeting) {
  const int machine = machines.number_of(process);
  NcclGroupOptions options{.size = 0, .check = meeting.check};
  for (const auto rank : machines.ranks_on(machine)) {
    if (named.processes[rank] == process) options.local.push_back({options.size, named.devices[rank]});
    ++options.size;
  }
  const auto members = meeting.make_across(name_of(machine) + " over nccl", machines.members(machine));
  options.id = share_nccl_id(*members, options.limit);
  return make_nccl_group(options);
}

std::shared_ptr<Communicator> make_group_across(const Machines& machines, int process, const Meeting& meeting) {
  const int machine = machines.number_of(process);
  const auto& members = machines.members(machine);
  Hierarchy parts{.machine_of = machines.numbers(),
                  .all = meeting.make_across("/all", machines.processes()),
                  .once_per_machine = machines.is_joined(machine)};
  if (members.size() > 1) {
    parts.inside = meeting.make_across(name_of(machine), members);
    parts.spread = meeting.make_across(name_of(machine) + " out", members);
  }
  if (members.front() == process) parts.across = meeting.make_across("/across", machines.first_members());
  return make_hierarchical_communicator(std::move(parts));
}

/// Of the ranks of one process, in an order of sums that need not be the canonical one.
std::shared_ptr<DeviceCommunicator> make_group_inside(const std::vector<Device>& devices, bool may_use_nccl) {
  const bool over_nccl = may_use_nccl && devices.size() > 1 && suits_nccl(devices);
  return over_nccl ? make_nccl_group(devices) : make_device_group(devices);
}

}  // namespace

DeviceHierarchy make_device_hierarchy(const PlanCommunicator& named, int process, const Meeting& meeting) {
  std::vector<Device> devices;
  for (std::size_t rank = 0; rank < named.devices.size(); ++rank)
    if (named.processes[rank] == process) devices.push_back(named.devices[rank]);
  const Machines machines(named, meeting);
  if (!machines.is_any_joined())
    return {named.processes, make_group_inside(devices, true), meeting.make_across("", machines.processes())};
  // A GPU has one communicator of NCCL: kernels of two might wait for each other.
  const bool is_joined = machines.is_joined(machines.number_of(process));
  DeviceHierarchy parts{named.processes, make_group_inside(devices, !is_joined),
                        make_group_across(machines, process, meeting)};
  if (is_joined) parts.machine = make_machine_group(named, machines, process, meeting);
  return parts;
}

}  // namespace troupe
