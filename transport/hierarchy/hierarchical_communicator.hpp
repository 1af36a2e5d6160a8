#pragma once

#include <memory>
#include <vector>

#include "troupe/transport/communicator.hpp"

namespace troupe {

/// The communicators of one rank from which make_hierarchical_communicator() makes a communicator over several
/// machines.
struct Hierarchy {
  /// The number of the machine of every rank, by rank.
  std::vector<int> machine_of;
  /// A communicator of all ranks. It does all collectives except all_reduce and broadcast, and passes messages.
  std::shared_ptr<Communicator> all;
  /// Two communicators of the ranks of this machine in ascending order. `inside` does the first stage: it sums, or
  /// broadcasts from a root on this machine. `spread` does the last stage: it broadcasts the results of `across`. Both
  /// are null if the rank is alone on its machine.
  std::shared_ptr<Communicator> inside, spread;
  /// A communicator of the first rank of every machine, in ascending order of these ranks. Null on all other ranks.
  std::shared_ptr<Communicator> across;
  /// A second communicator of the ranks of `across`, which is set if a collective of `across` cannot end without one of
  /// its ranks, as with MPI. The ranks then begin a collective of `across` only once all have begun it here, so that a
  /// rank can leave the group. Null if the ranks of `across` leave it with Communicator::leave().
  std::shared_ptr<Communicator> entry = nullptr;
  /// True if the ranks of every machine sum among themselves before they call all_reduce(), which then adds the tensors
  /// of the machines' first ranks alone. reduce_scatter() then throws Error.
  bool once_per_machine = false;
};

/// Makes a communicator that sums and broadcasts inside a machine first, then between machines, so that a tensor
/// crosses the network once for each machine and not for each rank. A sum over all ranks is the sum of the machines'
/// sums. If `inside` and `across` sum in rank order, a machine's sum adds its ranks in ascending order, and the whole
/// sum adds the machines in the order of their first ranks. Throws Error if the communicators do not fit `machine_of`.
std::shared_ptr<Communicator> make_hierarchical_communicator(Hierarchy hierarchy);

}  // namespace troupe
