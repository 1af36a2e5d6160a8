#include "troupe/transport/membership/cluster_group.hpp"

#include <algorithm>
#include <map>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/hierarchy/hierarchical_communicator.hpp"
#include "troupe/transport/mpi/mpi_communicator.hpp"
#include "troupe/transport/nccl/nccl_group.hpp"

namespace troupe {

namespace {

using Group = std::vector<std::shared_ptr<Communicator>>;

/// Makes groups in which every pair of ranks has a link of its own.
class MeshBuilder {
 public:
  MeshBuilder(const GroupSurroundings& around, const std::string& name, const std::vector<int>& processes)
      : around_(around), name_(name), processes_(processes), links_(processes.size()) {
    for (auto& of_rank : links_) of_rank.resize(processes.size());
    for (std::size_t a = 0; a < processes.size(); ++a)
      for (std::size_t b = a + 1; b < processes.size(); ++b) join(a, b);
  }

  template <class MakeRank>
  Group make(MakeRank make_rank) {
    Group group(processes_.size());
    for (std::size_t rank = 0; rank < group.size(); ++rank)
      if (here(rank)) group[rank] = make_rank(static_cast<int>(rank), std::move(links_[rank]));
    return group;
  }

 private:
  bool here(std::size_t rank) const { return processes_[rank] == around_.process; }

  void join(std::size_t a, std::size_t b) {
    const auto name = name_ + "/" + std::to_string(a) + "-" + std::to_string(b);
    if (here(a) && here(b))
      std::tie(links_[a][b], links_[b][a]) = make_memory_link();
    else if (here(a))
      links_[a][b] = around_.link(processes_[b], name);
    else if (here(b))
      links_[b][a] = around_.link(processes_[a], name);
  }

  const GroupSurroundings& around_;
  const std::string& name_;
  const std::vector<int>& processes_;
  std::vector<std::vector<std::shared_ptr<Link>>> links_;
};

Group make_direct_group(const GroupSurroundings& around, const std::string& name, const std::vector<int>& processes) {
  const bool all_here = std::ranges::all_of(processes, [&](int process) { return process == around.process; });
  if (all_here) return make_local_group(static_cast<int>(processes.size()));
  return MeshBuilder(around, name, processes).make(make_linked_communicator);
}

/// A group of some ranks of a larger group. `make(name)` returns null for ranks of other processes.
struct Subgroup {
  const GroupSurroundings& around;
  const std::vector<int>& processes;
  std::vector<int> ranks;

  std::vector<int> processes_of_ranks() const {
    std::vector<int> their_processes;
    for (const auto rank : ranks) their_processes.push_back(processes[static_cast<std::size_t>(rank)]);
    return their_processes;
  }
  Group make(const std::string& name) const { return make_direct_group(around, name, processes_of_ranks()); }
};

using MachineOf = std::function<std::string(int process)>;

/// The ranks of each machine, with the machines in the order of their first ranks.
std::vector<std::vector<int>> ranks_by_machine(const MachineOf& machine, const std::vector<int>& processes) {
  std::map<std::string, std::size_t> numbers;
  std::vector<std::vector<int>> machines;
  for (std::size_t rank = 0; rank < processes.size(); ++rank) {
    const auto [entry, is_new] = numbers.try_emplace(machine(processes[rank]), machines.size());
    if (is_new) machines.emplace_back();
    machines[entry->second].push_back(static_cast<int>(rank));
  }
  return machines;
}

/// A group that sums within each machine, then across the machines, then spreads the sum within each machine.
/// `make_across(name, leaders)` makes the communicator of the first ranks of all machines.
template <class MakeAcross>
Group make_hierarchical_group(const GroupSurroundings& around, const std::string& name,
                              const std::vector<int>& processes, const MachineOf& machine_of_process,
                              const MakeAcross& make_across) {
  const auto machines = ranks_by_machine(machine_of_process, processes);
  std::vector<Hierarchy> parts(processes.size());
  std::vector<int> machine_of(processes.size()), leaders;
  const auto all = make_direct_group(around, name + "/all", processes);
  for (std::size_t machine = 0; machine < machines.size(); ++machine) {
    const Subgroup members{around, processes, machines[machine]};
    leaders.push_back(members.ranks.front());
    const bool alone = members.ranks.size() == 1;
    const auto where = name + "/machine " + std::to_string(machine);
    const auto inside = alone ? Group(1) : members.make(where),
               spread = alone ? Group(1) : members.make(where + " out");
    for (std::size_t inner = 0; inner < members.ranks.size(); ++inner) {
      const auto rank = static_cast<std::size_t>(members.ranks[inner]);
      machine_of[rank] = static_cast<int>(machine);
      parts[rank] = {.all = all[rank], .inside = inside[inner], .spread = spread[inner]};
    }
  }
  const auto across = make_across(name + "/across", Subgroup{around, processes, leaders});
  for (std::size_t machine = 0; machine < machines.size(); ++machine)
    parts[static_cast<std::size_t>(leaders[machine])].across = across[machine];
  Group group(processes.size());
  for (std::size_t rank = 0; rank < group.size(); ++rank) {
    parts[rank].machine_of = machine_of;
    if (parts[rank].all) group[rank] = make_hierarchical_communicator(std::move(parts[rank]));
  }
  return group;
}

/// A group whose processes use MPI with one rank each. The first rank of a process adds up the others before, and
/// passes the result to them after.
Group make_mpi_group(const GroupSurroundings& around, const std::string& name, const std::vector<int>& processes) {
  const auto across = [&](const std::string& across_name, const Subgroup& leaders) {
    const auto members = leaders.processes_of_ranks();
    Group group(members.size());
    for (std::size_t i = 0; i < members.size(); ++i)
      if (members[i] == around.process)
        group[i] = make_mpi_communicator(across_name, members, around.process, around.world_size);
    return group;
  };
  return make_hierarchical_group(
      around, name, processes, [](int process) { return std::to_string(process); }, across);
}

}  // namespace

bool is_available(AllReduceAlgorithm algorithm) {
  if (algorithm == AllReduceAlgorithm::mpi) return has_mpi();
  return algorithm != AllReduceAlgorithm::nccl || has_nccl();
}

std::vector<std::shared_ptr<Communicator>> make_cluster_group(const GroupSurroundings& around, const std::string& name,
                                                              const std::vector<int>& processes,
                                                              AllReduceAlgorithm all_reduce) {
  switch (all_reduce) {
    case AllReduceAlgorithm::direct:
      return make_direct_group(around, name, processes);
    case AllReduceAlgorithm::ring:
      return MeshBuilder(around, name, processes).make(make_ring_communicator);
    case AllReduceAlgorithm::hierarchy:
      return make_hierarchical_group(
          around, name, processes, around.machine_of,
          [](const std::string& across, const Subgroup& leaders) { return leaders.make(across); });
    case AllReduceAlgorithm::mpi:
      return make_mpi_group(around, name, processes);
    case AllReduceAlgorithm::nccl:
      throw Error("nccl", "'" + name + "' is a group of tensors in memory of the host");
  }
  return {};
}

}  // namespace troupe
