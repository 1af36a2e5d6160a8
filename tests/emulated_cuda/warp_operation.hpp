#pragma once

#include <cstdint>

namespace emulated_cuda {

/// What a thread waits at.
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

/// The function of CUDA by whose name the operation is reported.
const char* name_of(Operation operation);

/// One thread's part in an operation that it must wait for others in.
struct Arrival {
  Operation operation = Operation::kNone;
  /// Those that meet are of one size.
  std::uint8_t value_bytes = 0;
  unsigned mask = 0;
  int operand = 0;
  int width = 32;
  /// The value that a shuffle hands on, or a predicate.
  std::uint64_t value = 0;
};

/// True if two lanes take part in one operation.
bool meet(const Arrival& a, const Arrival& b);

/// What the operation gives the lane; `lanes` are the 32 of the warp, of which `present` take part. A lane that does
/// not gives bits that are all ones.
std::uint64_t result_for(int lane, const Arrival* lanes, unsigned present);

}  // namespace emulated_cuda
