#include "troupe/tests/emulated_cuda/warp_operation.hpp"

namespace emulated_cuda {

namespace {

constexpr std::uint64_t kUndefined = ~std::uint64_t{0};

/// The lane whose value a shuffle returns to `lane`: the lane itself if the other lane is outside its group of `width`
/// lanes.
int source_of(int lane, const Arrival& arrival) {
  const int width = arrival.width;
  const int first = lane & ~(width - 1);
  switch (arrival.operation) {
    case Operation::kShuffle:
      return first + (arrival.operand & (width - 1));
    case Operation::kShuffleUp:
      return lane - arrival.operand < first ? lane : lane - arrival.operand;
    case Operation::kShuffleDown:
      return arrival.operand >= first + width - lane ? lane : lane + arrival.operand;
    default:
      return (lane ^ arrival.operand) >= first + width ? lane : lane ^ arrival.operand;
  }
}

unsigned ballot(const Arrival* lanes, unsigned present) {
  unsigned votes = 0;
  for (int i = 0; i < 32; ++i) {
    if (present >> i & 1 && lanes[i].value) votes |= 1u << i;
  }
  return votes;
}

}  // namespace

const char* name_of(Operation operation) {
  static constexpr const char* kNames[] = {
      "nothing",       "__syncthreads", "__syncthreads_or", "__syncthreads_and", "__syncthreads_count",
      "__syncwarp",    "__shfl_sync",   "__shfl_up_sync",   "__shfl_down_sync",  "__shfl_xor_sync",
      "__ballot_sync", "__any_sync",    "__all_sync"};
  return kNames[static_cast<int>(operation)];
}

bool meet(const Arrival& a, const Arrival& b) {
  return a.operation == b.operation && a.mask == b.mask && a.value_bytes == b.value_bytes;
}

std::uint64_t result_for(int lane, const Arrival* lanes, unsigned present) {
  const Arrival& arrival = lanes[lane];
  switch (arrival.operation) {
    case Operation::kSyncwarp:
      return 0;
    case Operation::kBallot:
      return ballot(lanes, present);
    case Operation::kAny:
      return ballot(lanes, present) != 0;
    case Operation::kAll:
      return ballot(lanes, present) == present;
    default:
      const int source = source_of(lane, arrival);
      return source >= 0 && source < 32 && present >> source & 1 ? lanes[source].value : kUndefined;
  }
}

}  // namespace emulated_cuda
