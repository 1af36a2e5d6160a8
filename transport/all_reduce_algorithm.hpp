#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "troupe/ops/core/error.hpp"

namespace troupe {

/// The algorithm of a sum over ranks in several processes, or over GPUs. Each algorithm adds in an order that is fixed
/// for given ranks, except that the order of `mpi` depends on the MPI library. See docs/clusters.md.
enum class AllReduceAlgorithm : std::uint8_t {
  /// Each rank receives one slice of the tensors of all ranks, adds the slices in rank order, and sends their sum to
  /// all ranks: two steps for any number of ranks. Tensors of at most 4 KiB take one step: each rank receives and adds
  /// the whole tensors. The sum has the same bits as in a group within one process.
  direct,
  /// The slices of a tensor above 4 KiB go round a ring, from each rank to the next, in 2 (N - 1) steps for N ranks. A
  /// rank exchanges these slices with its two neighbors only. The sum of slice i begins with rank i. Smaller tensors
  /// are summed as in `direct`.
  ring,
  /// The ranks of each machine sum among themselves, then one rank of each machine adds up the sums of all machines and
  /// passes the result to the ranks of its machine. If all tensors lie on devices, the first sums are those of the
  /// devices of each process, or of each machine if NCCL can join its devices.
  hierarchy,
  /// The ranks of each process sum among themselves, then one rank of each process adds up the sums of all processes
  /// over MPI and passes the result to the ranks of its process.
  mpi,
  /// NCCL, NVIDIA's library, sums in its own order. Every rank needs a GPU of its own.
  nccl,
};

/// The name of each algorithm, indexed by the value of AllReduceAlgorithm.
inline constexpr std::array kAllReduceAlgorithms{"direct", "ring", "hierarchy", "mpi", "nccl"};

inline std::string to_string(AllReduceAlgorithm algorithm) {
  return kAllReduceAlgorithms.at(static_cast<std::size_t>(algorithm));
}
/// Returns the algorithm of that name. Throws Error if there is none.
inline AllReduceAlgorithm all_reduce_algorithm_of(const std::string& name) {
  for (std::size_t i = 0; i < kAllReduceAlgorithms.size(); ++i)
    if (kAllReduceAlgorithms[i] == name) return static_cast<AllReduceAlgorithm>(i);
  throw Error("all_reduce", "'" + name + "' is not an algorithm: there are direct, ring, hierarchy, mpi and nccl");
}

}  // namespace troupe
