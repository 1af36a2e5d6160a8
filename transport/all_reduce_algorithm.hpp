#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "troupe/ops/core/error.hpp"

namespace troupe {

/// The algorithm of a sum over ranks in several processes, or over GPUs. Each algorithm adds in an order that is fixed
/// for given ranks, except that MPI's library chooses the order of `mpi`; see docs/clusters.md.
enum class AllReduceAlgorithm : std::uint8_t {
  /// Each rank adds one slice of the tensors of all ranks, in rank order, and sends the sum of the slice to all ranks:
  /// two steps for any number of ranks. The sum has the same bits as in a group within one process.
  direct,
  /// The slices of a tensor go round a ring, from each rank to the next, in 2 (N - 1) steps for N ranks. A rank
  /// exchanges data with its two neighbors only. The sum of slice i begins with rank i.
  ring,
  /// The ranks of each machine sum among themselves, then one rank of each machine sums with those of the other
  /// machines. If all tensors lie on devices, the devices of a process, or those of a machine if NCCL can join them,
  /// take the place of the ranks of a machine.
  hierarchy,
  /// The ranks of each process sum among themselves, then one rank of each process sums with those of the other
  /// processes over MPI.
  mpi,
  /// NCCL, NVIDIA's library, sums. Every rank needs a GPU of its own.
  nccl,
};

/// The name of each algorithm, indexed by the value of AllReduceAlgorithm.
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
