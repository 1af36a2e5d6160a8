#include "troupe/actors/collective/device_hierarchy.hpp"

#include <map>

#include "troupe/transport/device/process_layout.hpp"
#include "troupe/transport/hierarchy/hierarchical_communicator.hpp"
#include "troupe/transport/hierarchy/hierarchical_device_group.hpp"
#include "troupe/transport/nccl/nccl_group.hpp"

namespace troupe {

namespace {

using device::ProcessLayout;

/// The machine of each process.
std::vector<std::string> machines_of(const std::vector<int>& processes, const Meeting& meeting) {
  std::vector<std::string> machines;
  for (const int process : processes)
    machines.push_back(meeting.machine_of ? meeting.machine_of(process) : std::to_string(process));
  return machines;
}

/// The machines of a communicator's processes, seen from one of these: the same in all.
class Machines {
 public:
  Machines(const PlanCommunicator& named, int process, const Meeting& meeting)
      : processes_(processes_of(named)), layout_(machines_of(processes_, meeting)), ranks_(count()) {
    std::map<int, int> machine_of;
    for (std::size_t i = 0; i < processes_.size(); ++i) machine_of[processes_[i]] = layout_.outer(static_cast<int>(i));
    own_ = machine_of.at(process);
    for (std::size_t rank = 0; rank < named.devices.size(); ++rank)
      ranks_[static_cast<std::size_t>(machine_of.at(named.processes[rank]))].push_back(
          {static_cast<int>(rank), named.devices[rank]});
  }

  std::size_t count() const { return static_cast<std::size_t>(layout_.processes()); }
  /// The machine of this process.
  int own() const { return own_; }
  const std::vector<int>& processes() const { return processes_; }
  /// The machine of every process, in their order.
  std::vector<int> numbers() const { return layout_.numbers(); }
  std::vector<int> processes_on(int machine) const {
    std::vector<int> members;
    for (const int i : layout_.ranks_of(machine)) members.push_back(processes_[static_cast<std::size_t>(i)]);
    return members;
  }
  std::vector<int> first_processes() const {
    std::vector<int> first;
    for (int machine = 0; machine < layout_.processes(); ++machine) first.push_back(processes_on(machine).front());
    return first;
  }
  const std::vector<DeviceRank>& ranks_on(int machine) const { return ranks_[static_cast<std::size_t>(machine)]; }

  /// Whether NCCL can join a machine's processes, if all of them have it.
  bool can_be_joined(int machine) const {
    if (layout_.ranks_of(machine).size() == 1) return false;
    std::vector<Device> devices;
    for (const auto& [rank, device] : ranks_on(machine)) devices.push_back(device);
    return are_different_gpus(devices);
  }
  bool can_any_be_joined() const {
    for (int machine = 0; machine < layout_.processes(); ++machine)
      if (can_be_joined(machine)) return true;
    return false;
  }

 private:
  const std::vector<int> processes_;
  const ProcessLayout layout_;                  // of processes on machines, as of ranks in processes
  std::vector<std::vector<DeviceRank>> ranks_;  // by machine
  int own_ = 0;
};

/// Before the names of what the processes of a machine share.
std::string prefix_of(int machine) {
  return "/machine " + std::to_string(machine);
}

bool all_have_nccl(Communicator& processes, std::chrono::milliseconds limit) {
  const auto have = Tensor::from<std::int32_t>({1}, std::vector<std::int32_t>{has_nccl() ? 1 : 0});
  processes.all_reduce(have)->wait(limit);
  return have.data<std::int32_t>()[0] == processes.size();
}

/// The ranks of this machine over NCCL, or null if a process has none.
std::shared_ptr<Communicator> join_machine(const PlanCommunicator& named, const Machines& machines, int process,
                                           const Meeting& meeting) {
  NcclGroupOptions options{.size = 0, .check = meeting.check};
  const auto members =
      meeting.make_across(prefix_of(machines.own()) + " over nccl", machines.processes_on(machines.own()));
  if (!all_have_nccl(*members, options.limit)) return nullptr;
  for (const auto& [rank, device] : machines.ranks_on(machines.own())) {
    if (named.processes[static_cast<std::size_t>(rank)] == process) options.local.push_back({options.size, device});
    ++options.size;
  }
  options.id = share_nccl_id(*members, options.limit);
  return make_nccl_group(options);
}

std::shared_ptr<Communicator> make_group_across(const Machines& machines, int process, bool once_per_machine,
                                                const Meeting& meeting) {
  const auto prefix = prefix_of(machines.own());
  const auto members = machines.processes_on(machines.own());
  Hierarchy parts{.machine_of = machines.numbers(),
                  .all = meeting.make_across("/all", machines.processes()),
                  .once_per_machine = once_per_machine};
  if (members.size() > 1) {
    parts.inside = meeting.make_across(prefix, members);
    parts.spread = meeting.make_across(prefix + " out", members);
  }
  if (members.front() == process) parts.across = meeting.make_across("/across", machines.first_processes());
  return make_hierarchical_communicator(std::move(parts));
}

/// Of the ranks of one process, in an order of sums that need not be the canonical one.
std::shared_ptr<Communicator> make_group_inside(const PlanCommunicator& named, int process, bool may_use_nccl) {
  std::vector<Device> devices;
  for (std::size_t rank = 0; rank < named.devices.size(); ++rank)
    if (named.processes[rank] == process) devices.push_back(named.devices[rank]);
  const bool over_nccl = may_use_nccl && devices.size() > 1 && suits_nccl(devices);
  return over_nccl ? make_nccl_group(devices) : make_device_group(devices);
}

}  // namespace

std::shared_ptr<Communicator> make_device_hierarchy(const PlanCommunicator& named, int process,
                                                    const Meeting& meeting) {
  const Machines machines(named, process, meeting);
  if (!machines.can_any_be_joined())
    return make_hierarchical_device_group(
        {named.processes, make_group_inside(named, process, true), meeting.make_across("", machines.processes())});
  std::shared_ptr<Communicator> machine;
  if (machines.can_be_joined(machines.own())) machine = join_machine(named, machines, process, meeting);
  if (machine && machines.count() == 1) return machine;
  // Kernels of two communicators of NCCL on one GPU might wait for each other.
  DeviceHierarchy parts{named.processes, make_group_inside(named, process, machine == nullptr),
                        make_group_across(machines, process, machine != nullptr, meeting)};
  parts.machine = machine;
  return make_hierarchical_device_group(std::move(parts));
}

}  // namespace troupe
