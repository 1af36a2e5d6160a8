#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "troupe/ops/core/error.hpp"

namespace troupe {

/// The algorithm of a sum over ranks in several processes, or over GPUs. Each algorithm adds in a fixed order, the same
/// from run to run; see docs/clusters.md.
enum class AllReduceAlgorithm : std::uint8_t {
  /// Every rank sums its slice of the tensors of all ranks, and sends the sum to all: two steps for any number of
  /// ranks. The bits are those of one process.
  direct,
  /// Slices go round, from each rank to the next: 2 (N - 1) steps. Every rank exchanges data with its neighbors only.
  ring,
  /// The ranks of a machine sum among themselves, then one rank of each machine with those of the other machines. If
  /// every rank has its tensors on a device, the devices of a process, or of a machine if NCCL can join them, sum among
  /// themselves, then one device of each with those of the others.
  hierarchy,
  /// The ranks of a process sum among themselves, then one rank of each process with the others over MPI, in the order
  /// that MPI chooses.
  mpi,
  /// NVIDIA's library sums. Every rank needs a GPU of its own.
  nccl,
};

/// The names, by AllReduceAlgorithm.
inline constexpr std::array kAllReduceAlgorithms{"direct", "ring", "hierarchy", "mpi", "nccl"};

inline std::string to_string(AllReduceAlgorithm algorithm) {
  return kAllReduceAlgorithms.at(static_cast<std::size_t>(algorithm));
}
/// Throws Error if there is no algorithm of that name.
inline AllReduceAlgorithm all_reduce_algorithm_of(const std::string& name) {
  for (std::size_t i = 0; i < kAllReduceAlgorithms.size(); ++i)
    if (kAllReduceAlgorithms[i] == name) return static_cast<AllReduceAlgorithm>(i);
  throw Error("all_reduce", "'" + name + "' is not an algorithm: there are direct, ring, hierarchy, mpi and nccl");
}

}  // namespace troupe
