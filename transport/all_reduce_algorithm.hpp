#pragma once

#include <cstdint>
#include <string>

namespace troupe {

/// How ranks in several processes come to a sum. Each adds in an order of its own, the same from run to run; see
/// docs/clusters.md.
enum class AllReduceAlgorithm : std::uint8_t {
  /// Every rank sums its slice of what all send, and sends it to all: two steps, whatever the number of ranks. The bits
  /// of one process.
  direct,
  /// Slices go round, from each rank to the next: 2 (N - 1) steps, but every rank talks to its neighbours alone.
  ring,
  /// The ranks of a machine sum among themselves, and one of each with those of the other machines.
  hierarchy,
  /// The ranks of a process sum among themselves, and one of each with the others over MPI, in the order that MPI
  /// chooses.
  mpi,
};

std::string to_string(AllReduceAlgorithm algorithm);
/// Throws Error if there is none of that name.
AllReduceAlgorithm all_reduce_algorithm_of(const std::string& name);
/// Whether this build has it: mpi, if it was configured with TROUPE_MPI.
bool is_available(AllReduceAlgorithm algorithm);

}  // namespace troupe
