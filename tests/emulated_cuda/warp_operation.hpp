#pragma once

#include <cstdint>

namespace emulated_cuda {

/// The operation at which a thread waits.
enum class Operation : std::uint8_t {
  kNone,
  kSyncthreads,
  kSyncthreadsOr,
  kSyncthreadsAnd,
  kSyncthreadsCount,
  kSyncwarp,
  kShuffle,
  kShuffleUp,
  kShuffleDown,
  kShuffleXor,
  kBallot,
  kAny,
  kAll,
};

constexpr bool is_block_wide(Operation operation) {
  return operation >= Operation::kSyncthreads && operation <= Operation::kSyncthreadsCount;
}

/// The name of the CUDA function, for reports.
const char* name_of(Operation operation);

/// The part of one thread in an operation in which threads wait for each other.
struct Arrival {
  Operation operation = Operation::kNone;
  /// The size of the value. Threads with different sizes do not meet.
  std::uint8_t value_bytes = 0;
  unsigned mask = 0;
  int operand = 0;
  int width = 32;
  /// The value that a shuffle passes on, or a predicate.
  std::uint64_t value = 0;
};

/// Whether two lanes take part in the same operation.
bool meet(const Arrival& a, const Arrival& b);

/// The result of the operation for a lane. `lanes` are the 32 lanes of the warp, of which `present` take part. A value
/// from a lane that does not take part has all bits set.
std::uint64_t result_for(int lane, const Arrival* lanes, unsigned present);

}  // namespace emulated_cuda
