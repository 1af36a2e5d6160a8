#include "troupe/actors/collective/device_groups.hpp"

#include <algorithm>
#include <map>

#include "troupe/transport/device/make_device_group.hpp"
#include "troupe/transport/hierarchy/hierarchical_communicator.hpp"
#include "troupe/transport/hierarchy/hierarchical_device_group.hpp"
#include "troupe/transport/nccl/nccl_group.hpp"

namespace troupe {

namespace {

std::vector<DeviceRank> ranks_of(const PlanCommunicator& named, int process) {
  std::vector<DeviceRank> ranks;
  for (std::size_t rank = 0; rank < named.devices.size(); ++rank)
    if (named.processes[rank] == process) ranks.push_back({static_cast<int>(rank), named.devices[rank]});
  return ranks;
}

std::vector<Device> devices_of(const std::vector<DeviceRank>& ranks) {
  std::vector<Device> devices;
  for (const auto& [rank, device] : ranks) devices.push_back(device);
  return devices;
}

std::shared_ptr<Communicator> make_group_over_nccl(const PlanCommunicator& named, int process, const Meeting& meeting) {
  NcclGroupOptions options{.size = static_cast<int>(named.devices.size()), .local = ranks_of(named, process)};
  options.check = meeting.check;
  const bool is_alone = options.local.size() == named.devices.size();
  options.id = is_alone ? make_nccl_id() : share_nccl_id(*meeting.make_across("", processes_of(named)), options.limit);
  return make_nccl_group(options);
}

/// A machine that has ranks of a communicator.
struct Machine {
  int number = 0;  // machines are numbered in the order of their first ranks
  std::vector<int> processes = {};
  std::vector<DeviceRank> ranks = {};

  /// Whether NCCL can join all ranks of the machine in one group, provided that every process has NCCL: there are
  /// several processes, and each rank has a GPU of its own.
  bool can_be_joined() const { return processes.size() > 1 && are_different_gpus(devices_of(ranks)); }
  /// The prefix of the names of communicators between the processes of this machine.
  std::string prefix() const { return "/machine " + std::to_string(number); }
};

/// The machines of a communicator's processes, numbered. All processes compute the same list.
std::vector<Machine> machines_of(const PlanCommunicator& named, const Meeting& meeting) {
  std::vector<Machine> machines;
  std::map<std::string, std::size_t> by_name;
  std::map<int, std::size_t> by_process;
  for (const int process : processes_of(named)) {
    const auto name = meeting.machine_of ? meeting.machine_of(process) : std::to_string(process);
    const auto number = by_name.try_emplace(name, machines.size()).first->second;
    if (number == machines.size()) machines.push_back({static_cast<int>(number)});
    machines[number].processes.push_back(process);
    by_process[process] = number;
  }
  for (std::size_t rank = 0; rank < named.devices.size(); ++rank)
    machines[by_process.at(named.processes[rank])].ranks.push_back({static_cast<int>(rank), named.devices[rank]});
  return machines;
}

/// The machine on which a process runs. It must be one of `machines`.
const Machine& machine_of(int process, const std::vector<Machine>& machines) {
  const auto has_process = [&](const Machine& machine) {
    return std::ranges::find(machine.processes, process) != machine.processes.end();
  };
  return *std::ranges::find_if(machines, has_process);
}

bool all_have_nccl(Communicator& processes, std::chrono::milliseconds limit) {
  const auto count = Tensor::from<std::int32_t>({1}, std::vector<std::int32_t>{has_nccl() ? 1 : 0});
  processes.all_reduce(count)->wait(limit);
  return count.data<std::int32_t>()[0] == processes.size();
}

/// This process's end of a group over NCCL of all ranks of a machine; null if a process of the machine has no NCCL.
/// Blocks until every process that has ranks on the machine has called this function.
std::shared_ptr<Communicator> join_machine(const PlanCommunicator& named, const Machine& machine, int process,
                                           const Meeting& meeting) {
  NcclGroupOptions options{.size = 0, .check = meeting.check};
  const auto members = meeting.make_across(machine.prefix() + " over nccl", machine.processes);
  if (!all_have_nccl(*members, options.limit)) return nullptr;
  for (const auto& [rank, device] : machine.ranks) {
    if (named.processes[static_cast<std::size_t>(rank)] == process) options.local.push_back({options.size, device});
    ++options.size;
  }
  options.id = share_nccl_id(*members, options.limit);
  return make_nccl_group(options);
}

std::shared_ptr<Communicator> make_group_across(const PlanCommunicator& named, const std::vector<Machine>& machines,
                                                int process, bool once_per_machine, const Meeting& meeting) {
  const auto processes = processes_of(named);
  const auto& machine = machine_of(process, machines);
  Hierarchy parts{.all = meeting.make_across("/all", processes), .once_per_machine = once_per_machine};
  for (const int member : processes) parts.machine_of.push_back(machine_of(member, machines).number);
  if (machine.processes.size() > 1) {
    parts.inside = meeting.make_across(machine.prefix(), machine.processes);
    parts.spread = meeting.make_across(machine.prefix() + " out", machine.processes);
  }
  if (machine.processes.front() == process) {
    std::vector<int> leaders;
    for (const auto& each : machines) leaders.push_back(each.processes.front());
    parts.across = meeting.make_across("/across", leaders);
  }
  return make_hierarchical_communicator(std::move(parts));
}

/// A group of the ranks of one process. If `may_use_nccl` is true, this process has NCCL and there are several ranks,
/// each with a GPU of its own, the group sums over NCCL, which chooses the order of sums. Otherwise it sums in the
/// order of the ranks.
std::shared_ptr<Communicator> make_group_inside(const PlanCommunicator& named, int process, bool may_use_nccl) {
  const auto devices = devices_of(ranks_of(named, process));
  const bool over_nccl = may_use_nccl && devices.size() > 1 && suits_nccl(devices);
  return over_nccl ? make_nccl_group(devices) : make_device_group(devices);
}

/// A group of devices in several processes, for every algorithm except AllReduceAlgorithm::nccl. A machine with several
/// processes sums over NCCL if each of its ranks has a GPU of its own and each of its processes has NCCL. On other
/// machines each process sums on its devices. The sums of machines and processes are then summed in host memory, unless
/// one machine that sums over NCCL has all ranks.
std::shared_ptr<Communicator> make_hierarchy(const PlanCommunicator& named, int process, const Meeting& meeting) {
  const auto machines = machines_of(named, meeting);
  if (!std::ranges::any_of(machines, &Machine::can_be_joined))
    return make_hierarchical_device_group(
        {named.processes, make_group_inside(named, process, true), meeting.make_across("", processes_of(named))});
  const auto& machine = machine_of(process, machines);
  auto joined = machine.can_be_joined() ? join_machine(named, machine, process, meeting) : nullptr;
  if (joined && machines.size() == 1) return joined;
  // If the machine sums over NCCL, the group inside the process must not use NCCL: kernels of two NCCL communicators on
  // one GPU might wait for each other.
  DeviceHierarchy parts{named.processes, make_group_inside(named, process, joined == nullptr),
                        make_group_across(named, machines, process, joined != nullptr, meeting)};
  parts.machine = joined;
  return make_hierarchical_device_group(std::move(parts));
}

}  // namespace

std::vector<int> processes_of(const PlanCommunicator& named) {
  std::vector<int> processes;
  for (const int process : named.processes)
    if (std::ranges::find(processes, process) == processes.end()) processes.push_back(process);
  return processes;
}

std::shared_ptr<Communicator> make_device_communicator(const PlanCommunicator& named, int process,
                                                       const Meeting& meeting) {
  if (named.all_reduce == AllReduceAlgorithm::nccl) return make_group_over_nccl(named, process, meeting);
  if (processes_of(named).size() == 1) return make_device_group(named.devices);
  return make_hierarchy(named, process, meeting);
}

}  // namespace troupe
