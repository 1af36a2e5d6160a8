#include "troupe/transport/membership/cluster_group.hpp"

#include <algorithm>
#include <functional>

#include "troupe/ops/core/error.hpp"
#include "troupe/transport/hierarchy/hierarchical_communicator.hpp"
#include "troupe/transport/hierarchy/layout.hpp"
#include "troupe/transport/mpi/mpi_communicator.hpp"
#include "troupe/transport/nccl/nccl_group.hpp"

namespace troupe {

namespace {

using Group = std::vector<std::shared_ptr<Communicator>>;

/// Makes groups in which a separate link joins every pair of ranks: in memory if both ranks are in this process, else a
/// link to another process.
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

std::vector<int> processes_at(const std::vector<int>& ranks, const std::vector<int>& processes) {
  std::vector<int> processes_of_ranks;
  for (const auto rank : ranks) processes_of_ranks.push_back(processes[static_cast<std::size_t>(rank)]);
  return processes_of_ranks;
}

using MakeGroup = std::function<Group(const std::string& name, const std::vector<int>& processes)>;

/// Makes a group that sums within each machine, then across the machines, and then broadcasts the sum within each
/// machine. `machines` assigns the ranks to machines, or to processes that count as machines. `make_across(name,
/// processes)` makes the group of the first ranks of all machines; `processes` has the process of each of these ranks.
/// `make_entry` makes Hierarchy::entry likewise, if it is set.
Group make_hierarchical_group(const GroupSurroundings& around, const std::string& name,
                              const std::vector<int>& processes, const hierarchy::Layout& machines,
                              const MakeGroup& make_across, const MakeGroup& make_entry = {}) {
  std::vector<Hierarchy> parts(processes.size());
  std::vector<int> leaders;
  const auto all = make_direct_group(around, name + "/all", processes);
  for (int machine = 0; machine < machines.outer_count(); ++machine) {
    const auto& ranks = machines.ranks_of(machine);
    const auto neighbors = processes_at(ranks, processes);
    leaders.push_back(ranks.front());
    const bool alone = ranks.size() == 1;
    const auto where = name + "/machine " + std::to_string(machine);
    const auto inside = alone ? Group(1) : make_direct_group(around, where, neighbors),
               spread = alone ? Group(1) : make_direct_group(around, where + " out", neighbors);
    for (std::size_t inner = 0; inner < ranks.size(); ++inner) {
      const auto rank = static_cast<std::size_t>(ranks[inner]);
      parts[rank] = {
          .machine_of = machines.numbers(), .all = all[rank], .inside = inside[inner], .spread = spread[inner]};
    }
  }
  const auto members = processes_at(leaders, processes);
  const auto across = make_across(name + "/across", members);
  const auto entry = make_entry ? make_entry(name + "/entry", members) : Group(members.size());
  for (std::size_t machine = 0; machine < leaders.size(); ++machine) {
    auto& leader = parts[static_cast<std::size_t>(leaders[machine])];
    leader.across = across[machine];
    leader.entry = entry[machine];
  }
  Group group(processes.size());
  for (std::size_t rank = 0; rank < group.size(); ++rank)
    if (parts[rank].all) group[rank] = make_hierarchical_communicator(std::move(parts[rank]));
  return group;
}

/// Makes a group in which the first rank of each process takes part in MPI. The ranks of a process sum their tensors,
/// the first rank sums the result with the other processes over MPI, and passes the sum to the ranks of its process.
Group make_mpi_group(const GroupSurroundings& around, const std::string& name, const std::vector<int>& processes) {
  const auto make_across = [&](const std::string& across, const std::vector<int>& members) {
    Group group(members.size());
    for (std::size_t i = 0; i < members.size(); ++i)
      if (members[i] == around.process)
        group[i] = make_mpi_communicator(across, members, around.process, around.world_size);
    return group;
  };
  const auto make_entry = [&](const std::string& entry, const std::vector<int>& members) {
    return make_direct_group(around, entry, members);
  };
  return make_hierarchical_group(around, name, processes, hierarchy::Layout(processes), make_across, make_entry);
}

Group make_machine_group(const GroupSurroundings& around, const std::string& name, const std::vector<int>& processes) {
  std::vector<std::string> machines;
  for (const int process : processes) machines.push_back(around.machine_of(process));
  const auto make_across = [&](const std::string& across, const std::vector<int>& members) {
    return make_direct_group(around, across, members);
  };
  return make_hierarchical_group(around, name, processes, hierarchy::Layout(machines), make_across);
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
      return make_machine_group(around, name, processes);
    case AllReduceAlgorithm::mpi:
      return make_mpi_group(around, name, processes);
    case AllReduceAlgorithm::nccl:
      throw Error("nccl", "'" + name + "' is a group of tensors in memory of the host");
  }
  return {};
}

}  // namespace troupe
