#pragma once

#include <memory>
#include <vector>

#include "troupe/transport/communicator.hpp"

namespace troupe {

/// The parts of a rank's communicator over several machines.
struct Hierarchy {
  /// The machine of every rank, by rank.
  std::vector<int> machine_of;
  /// All ranks; for all collectives except sums and broadcasts.
  std::shared_ptr<Communicator> all;
  /// The ranks of this machine in their order, twice: for sums, and to pass on the results of the other machines. Null
  /// if the rank is alone on its machine.
  std::shared_ptr<Communicator> inside, spread;
  /// The first rank of every machine, in the order of those ranks. Null on the others.
  std::shared_ptr<Communicator> across;
  /// The ranks of this machine have summed before, so all_reduce() takes the tensor of the first of them only.
  bool once_per_machine = false;
};

/// A communicator that sums and broadcasts inside every machine first, and then across machines, so that every sum
/// crosses the network once a machine. The result is the sum of the machines' sums, each in rank order. Throws Error if
/// the parts do not fit together.
std::shared_ptr<Communicator> make_hierarchical_communicator(Hierarchy hierarchy);

}  // namespace troupe
