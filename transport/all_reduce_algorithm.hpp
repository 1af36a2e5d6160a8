#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "troupe/ops/core/error.hpp"

namespace troupe {

/// How ranks come to a sum: those in several processes, and GPUs. Each adds in an order of its own, the same from run
/// to run; see docs/clusters.md.
enum class AllReduceAlgorithm : std::uint8_t {
  /// Every rank sums its slice of what all send, and sends it to all: two steps, whatever the number of ranks. The bits
  /// of one process.
  direct,
  /// Slices go round, from each rank to the next: 2 (N - 1) steps, but every rank talks to its neighbors alone.
  ring,
  /// The ranks of a machine sum among themselves, and one of each with those of the other machines. Where every rank
  /// has its tensors on a device, the devices of a process, or of a machine if NCCL can join them, sum among
  /// themselves, and one of each with those of the others.
  hierarchy,
  /// The ranks of a process sum among themselves, and one of each with the others over MPI, in the order that MPI
  /// chooses.
  mpi,
  /// By NVIDIA's library, where every rank has a GPU of its own.
  nccl,
};

/// By AllReduceAlgorithm.
inline constexpr std::array kAllReduceAlgorithms{"direct", "ring", "hierarchy", "mpi", "nccl"};

inline std::string to_string(AllReduceAlgorithm algorithm) {
  return kAllReduceAlgorithms.at(static_cast<std::size_t>(algorithm));
}
/// Throws Error if there is none of that name.
inline AllReduceAlgorithm all_reduce_algorithm_of(const std::string& name) {
  for (std::size_t i = 0; i < kAllReduceAlgorithms.size(); ++i)
    if (kAllReduceAlgorithms[i] == name) return static_cast<AllReduceAlgorithm>(i);
  throw Error("all_reduce", "'" + name + "' is not an algorithm: there are direct, ring, hierarchy, mpi and nccl");
}

}  // namespace troupe
