#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace troupe {

/// One kernel of a sequence, by the numbers of the blocks that it reads and writes.
struct MemoryStep {
  std::vector<int> inputs;
  std::vector<int> outputs;
  /// If not empty, the step packs its inputs into its only output, input i at byte pack_offsets[i].
  std::vector<std::size_t> pack_offsets;
};

/// A block of memory of a sequence of kernels.
struct MemoryBlock {
  std::size_t bytes = 0;
  /// Planned blocks get a place in the arena; the others have memory of their own.
  bool planned = true;
  /// A block that is read after the last step keeps its place to the end.
  bool kept = false;
};

/// Where a block lies: at `offset` in the arena, or in block `parent`.
struct BlockPlacement {
  static constexpr int kArena = -1;
  int parent = kArena;
  std::size_t offset = 0;
};

struct MemoryPlan {
  std::vector<BlockPlacement> placements;  ///< one a block; meaningless for blocks that are not planned
  std::size_t arena_bytes = 0;
};

/// Places blocks so that two which are needed at the same time never overlap, and parts of a pack lie in it already.
/// Greedy by size, each at the lowest offset that is free for its whole life: Pisarchyk and Lee, "Efficient memory
/// management for deep neural net inference" (2020). Where all blocks together take at most `most_apart` bytes, none
/// shares memory with another, so that independent steps can run concurrently.
MemoryPlan plan_memory(std::span<const MemoryStep> steps, std::span<const MemoryBlock> blocks,
                       std::size_t most_apart = 0);

}  // namespace troupe
