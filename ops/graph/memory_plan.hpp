#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace troupe {

/// One kernel of a sequence, with the indices of the memory blocks that it reads and writes.
struct MemoryStep {
  std::vector<int> inputs;
  std::vector<int> outputs;
  /// If not empty, the step is a pack: it copies its inputs into its only output, a block in which input i begins at
  /// byte pack_offsets[i].
  std::vector<std::size_t> pack_offsets;
};

/// A memory block that the kernels of a sequence read or write.
struct MemoryBlock {
  std::size_t bytes = 0;
  /// True: plan_memory() places the block in the arena. False: the block has memory of its own.
  bool planned = true;
  /// True: the block is read after the last step, so no later step may overwrite it.
  bool kept = false;
};

/// The place of a block: at byte `offset` of the arena if `parent` is kArena, else at byte `offset` of block `parent`.
struct BlockPlacement {
  static constexpr int kArena = -1;
  int parent = kArena;
  std::size_t offset = 0;
};

/// The places of all blocks of a sequence of kernels in one block of memory, the arena.
struct MemoryPlan {
  std::vector<BlockPlacement> placements;  ///< by block; without meaning for blocks with `planned` false
  std::size_t arena_bytes = 0;
};

/// Places blocks so that two blocks that are needed at the same time do not overlap. The inputs of a pack are placed
/// inside the pack where possible, so that they need not be copied. The algorithm is greedy by size, each block at the
/// lowest offset that is free for its whole life: Pisarchyk and Lee, "Efficient memory management for deep neural net
/// inference" (2020). If all blocks together take at most `max_unshared_bytes`, no two blocks share memory except a
/// pack and its inputs, so that independent steps can run concurrently.
MemoryPlan plan_memory(std::span<const MemoryStep> steps, std::span<const MemoryBlock> blocks,
                       std::size_t max_unshared_bytes = 0);

}  // namespace troupe
