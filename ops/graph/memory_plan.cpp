#include "troupe/ops/graph/memory_plan.hpp"

#include <algorithm>
#include <limits>

#include "troupe/ops/core/allocator.hpp"

namespace troupe {

namespace {

/// The time in which a block is needed: all steps from `first` to `last`.
struct Life {
  int first = std::numeric_limits<int>::max();
  int last = -1;

  void include(int step) {
    first = std::min(first, step);
    last = std::max(last, step);
  }
  bool overlaps(const Life& other) const { return first <= other.last && other.first <= last; }
};

/// Places each input of a pack inside the block of the pack, unless the input has memory of its own, already lies in
/// another pack, or is read after the pack. An input that is read later stays outside, because later steps may
/// overwrite the pack in place.
void place_parts(std::span<const MemoryStep> steps, std::span<const MemoryBlock> blocks,
                 std::vector<BlockPlacement>& places) {
  std::vector<int> last_reader(blocks.size(), -1);
  for (std::size_t i = 0; i < steps.size(); ++i)
    for (auto block : steps[i].inputs) last_reader[block] = static_cast<int>(i);
  for (std::size_t number = 0; number < steps.size(); ++number) {
    const auto& step = steps[number];
    for (std::size_t i = 0; i < step.pack_offsets.size(); ++i) {
      const auto part = step.inputs[i];
      const bool read_later = blocks[part].kept || last_reader[part] > static_cast<int>(number);
      if (!blocks[part].planned || read_later || places[part].parent != BlockPlacement::kArena) continue;
      places[part] = {step.outputs[0], step.pack_offsets[i]};
    }
  }
}

/// Returns the life of each block. A pack is needed while any block inside it is needed.
std::vector<Life> lives_of(std::span<const MemoryStep> steps, std::span<const MemoryBlock> blocks,
                           const std::vector<BlockPlacement>& places) {
  std::vector<Life> lives(blocks.size());
  const auto use = [&](int block, int step) {
    for (; block != BlockPlacement::kArena; block = places[block].parent) lives[block].include(step);
  };
  const auto end = static_cast<int>(steps.size());
  for (int i = 0; i < end; ++i) {
    for (auto block : steps[i].inputs) use(block, i);
    for (auto block : steps[i].outputs) use(block, i);
  }
  for (std::size_t block = 0; block < blocks.size(); ++block)
    if (blocks[block].kept) use(static_cast<int>(block), end);
  return lives;
}

/// A block that already has an offset in the arena.
struct Placed {
  std::size_t offset, bytes;
  Life life;
};

/// The lowest offset at which `bytes` bytes are free during `life`. `placed` must be sorted by offset.
std::size_t lowest_gap(const std::vector<Placed>& placed, std::size_t bytes, const Life& life) {
  std::size_t offset = 0;
  for (const auto& other : placed) {
    if (!other.life.overlaps(life)) continue;
    if (offset + bytes <= other.offset) break;
    offset = std::max(offset, other.offset + other.bytes);
  }
  return offset;
}

}  // namespace

MemoryPlan plan_memory(std::span<const MemoryStep> steps, std::span<const MemoryBlock> blocks,
                       std::size_t max_unshared_bytes) {
  MemoryPlan plan;
  plan.placements.resize(blocks.size());
  place_parts(steps, blocks, plan.placements);
  auto lives = lives_of(steps, blocks, plan.placements);
  std::vector<std::size_t> order;
  std::size_t all_bytes = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!blocks[i].planned || plan.placements[i].parent != BlockPlacement::kArena || lives[i].last < 0) continue;
    order.push_back(i);
    all_bytes += Allocator::rounded(blocks[i].bytes);
  }
  if (all_bytes <= max_unshared_bytes) lives.assign(blocks.size(), Life{0, static_cast<int>(steps.size())});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return blocks[a].bytes > blocks[b].bytes; });
  std::vector<Placed> placed;
  for (auto block : order) {
    const Placed place{lowest_gap(placed, Allocator::rounded(blocks[block].bytes), lives[block]),
                       Allocator::rounded(blocks[block].bytes), lives[block]};
    plan.placements[block].offset = place.offset;
    plan.arena_bytes = std::max(plan.arena_bytes, place.offset + place.bytes);
    placed.insert(std::ranges::upper_bound(placed, place.offset, {}, &Placed::offset), place);
  }
  return plan;
}

}  // namespace troupe
