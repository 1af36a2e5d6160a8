#pragma once

#include <cstddef>
#include <vector>

#include "nccl.h"

namespace emulated_cuda {

enum class CollectiveKind { kAllReduce, kReduce, kReduceScatter, kAllGather, kBroadcast };

/// The call of one rank of a collective, with the counts of the call.
struct Collective {
  CollectiveKind kind;
  const void* send;
  void* receive;
  std::size_t count;
  ncclDataType_t type;
  ncclRedOp_t op = ncclSum;
  int root = 0;
};

/// The bytes of an element. 0 if there is no such type.
std::size_t bytes_of(ncclDataType_t type);

/// Whether two ranks called the same collective with the same arguments.
bool match(const Collective& a, const Collective& b);

/// Runs a collective for all ranks, whose calls match. Every element is reduced in one order for all ranks, rounded to
/// the type after every step, as along a ring.
void run_collective(const std::vector<Collective>& ranks);

}  // namespace emulated_cuda
