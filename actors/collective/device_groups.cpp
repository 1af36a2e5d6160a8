#include "troupe/actors/collective/device_groups.hpp"

#include <algorithm>

#include "troupe/actors/collective/device_hierarchy.hpp"
#include "troupe/transport/device/make_device_group.hpp"
#include "troupe/transport/nccl/nccl_group.hpp"

namespace troupe {

namespace {

std::vector<DeviceRank> ranks_of(const PlanCommunicator& named, int process) {
  std::vector<DeviceRank> ranks;
  for (std::size_t rank = 0; rank < named.devices.size(); ++rank)
    if (named.processes[rank] == process) ranks.push_back({static_cast<int>(rank), named.devices[rank]});
  return ranks;
}

std::shared_ptr<Communicator> make_group_over_nccl(const PlanCommunicator& named, int process, const Meeting& meeting) {
  NcclGroupOptions options{.size = static_cast<int>(named.devices.size()), .local = ranks_of(named, process)};
  options.check = meeting.check;
  const bool is_alone = options.local.size() == named.devices.size();
  options.id = is_alone ? make_nccl_id() : share_nccl_id(*meeting.make_across("", processes_of(named)), options.limit);
  return make_nccl_group(options);
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
  return make_device_hierarchy(named, process, meeting);
}

}  // namespace troupe
