#include "troupe/ops/graph/memory_plan.hpp"

#include <algorithm>
#include <random>

#include "troupe/ops/core/allocator.hpp"
#include "troupe/tests/catch.hpp"

namespace troupe::ops_test {

namespace {

struct Sequence {
  std::vector<MemoryStep> steps;
  std::vector<MemoryBlock> blocks;
};

/// For every step and the end: true if a block is needed. A block is needed from the first step that names it to the
/// last, or to the end if it is kept.
std::vector<bool> needed(const Sequence& sequence, int block) {
  const auto names = [&](const MemoryStep& step) {
    return std::ranges::count(step.inputs, block) + std::ranges::count(step.outputs, block) > 0;
  };
  const auto& steps = sequence.steps;
  std::vector<bool> result(steps.size() + 1, false);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool named_before = std::any_of(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(i) + 1, names);
    const bool named_after = std::any_of(steps.begin() + static_cast<std::ptrdiff_t>(i), steps.end(), names);
    result[i] = named_before && (named_after || sequence.blocks[block].kept);
  }
  result.back() = sequence.blocks[block].kept;
  return result;
}

std::size_t address(const MemoryPlan& plan, int block) {
  auto place = plan.placements[block];
  auto offset = place.offset;
  while (place.parent != BlockPlacement::kArena) {
    place = plan.placements[place.parent];
    offset += place.offset;
  }
  return offset;
}

bool lies_in(const MemoryPlan& plan, int part, int block) {
  for (auto parent = plan.placements[part].parent; parent != BlockPlacement::kArena;
       parent = plan.placements[parent].parent)
    if (parent == block) return true;
  return false;
}

bool both_needed(const std::vector<bool>& a, const std::vector<bool>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] && b[i]) return true;
  return false;
}

bool overlap(const MemoryPlan& plan, const Sequence& sequence, int a, int b) {
  return address(plan, a) < address(plan, b) + sequence.blocks[b].bytes &&
         address(plan, b) < address(plan, a) + sequence.blocks[a].bytes;
}

/// Checks that no two blocks share memory while both are needed, unless one lies in the other.
void check_apart(const Sequence& sequence, const MemoryPlan& plan) {
  const auto count = static_cast<int>(sequence.blocks.size());
  std::vector<std::vector<bool>> lives;
  for (int block = 0; block < count; ++block) lives.push_back(needed(sequence, block));
  for (int a = 0; a < count; ++a) {
    if (!sequence.blocks[a].planned) continue;
    CHECK(address(plan, a) % (plan.placements[a].parent == BlockPlacement::kArena ? Allocator::kAlignment : 4) == 0);
    CHECK(address(plan, a) + sequence.blocks[a].bytes <= plan.arena_bytes);
    for (int b = 0; b < a; ++b) {
      if (!sequence.blocks[b].planned || lies_in(plan, a, b) || lies_in(plan, b, a)) continue;
      INFO("blocks " << b << " and " << a);
      CHECK_FALSE((both_needed(lives[a], lives[b]) && overlap(plan, sequence, a, b)));
    }
  }
}

/// True if a block is read after step `number`.
bool read_after(const Sequence& sequence, int block, std::size_t number) {
  if (sequence.blocks[block].kept) return true;
  return std::any_of(sequence.steps.begin() + static_cast<std::ptrdiff_t>(number) + 1, sequence.steps.end(),
                     [&](const MemoryStep& step) { return std::ranges::count(step.inputs, block) > 0; });
}

/// Checks that each part of a pack lies at its offset in the pack. Exceptions are parts that lie in another pack, come
/// twice, or are read after the pack is written: these are copied.
void check_packs(const Sequence& sequence, const MemoryPlan& plan) {
  for (std::size_t number = 0; number < sequence.steps.size(); ++number) {
    const auto& step = sequence.steps[number];
    for (std::size_t i = 0; i < step.pack_offsets.size(); ++i) {
      const auto part = step.inputs[i];
      if (!sequence.blocks[part].planned) continue;
      if (read_after(sequence, part, number)) {
        CHECK(plan.placements[part].parent != step.outputs[0]);
        continue;
      }
      CHECK(plan.placements[part].parent != BlockPlacement::kArena);
      const bool here_once =
          std::ranges::count(step.inputs, part) == 1 && plan.placements[part].parent == step.outputs[0];
      if (here_once) CHECK(plan.placements[part].offset == step.pack_offsets[i]);
    }
  }
}

/// The sum of the sizes of all blocks in the arena.
std::size_t sum_of(const Sequence& sequence, const MemoryPlan& plan) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < sequence.blocks.size(); ++i)
    if (sequence.blocks[i].planned && plan.placements[i].parent == BlockPlacement::kArena)
      sum += Allocator::rounded(sequence.blocks[i].bytes);
  return sum;
}

class RandomSequence {
 public:
  explicit RandomSequence(std::uint64_t seed) : random_(seed) {}

  Sequence make() {
    add_block({100, false, false});
    for (int i = 0; i < 20; ++i) random_() % 5 == 0 ? add_pack() : add_step();
    return std::move(sequence_);
  }

 private:
  int add_block(const MemoryBlock& block) {
    sequence_.blocks.push_back(block);
    return static_cast<int>(sequence_.blocks.size()) - 1;
  }
  int any_block() { return static_cast<int>(random_() % sequence_.blocks.size()); }

  void add_step() {
    MemoryStep step;
    for (auto n = random_() % 3; n > 0; --n) step.inputs.push_back(any_block());
    for (auto n = 1 + random_() % 2; n > 0; --n)
      step.outputs.push_back(add_block({random_() % 1000, random_() % 8 != 0, random_() % 8 == 0}));
    sequence_.steps.push_back(step);
  }

  void add_pack() {
    MemoryStep step;
    std::size_t bytes = 0;
    for (auto n = 1 + random_() % 4; n > 0; --n) {
      step.inputs.push_back(any_block());
      step.pack_offsets.push_back(bytes);
      bytes += Allocator::rounded(sequence_.blocks[step.inputs.back()].bytes);
    }
    step.outputs.push_back(add_block({bytes, random_() % 4 != 0, random_() % 4 == 0}));
    sequence_.steps.push_back(step);
  }

  std::mt19937_64 random_;
  Sequence sequence_;
};

/// A chain of `length` steps. Each step reads the block that the step before it writes.
Sequence chain(int length) {
  Sequence sequence;
  for (int i = 0; i < length; ++i) {
    sequence.blocks.push_back({1024});
    sequence.steps.push_back({i > 0 ? std::vector{i - 1} : std::vector<int>{}, {i}, {}});
  }
  return sequence;
}

}  // namespace

TEST_CASE("blocks that are needed together never overlap", "[memory_plan]") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    INFO("seed " << seed);
    auto sequence = RandomSequence(seed).make();
    // A pack that is not planned has memory of its own, so the addresses of its parts are not addresses in the arena.
    for (auto& step : sequence.steps)
      if (!step.pack_offsets.empty()) sequence.blocks[step.outputs[0]].planned = true;
    const auto plan = plan_memory(sequence.steps, sequence.blocks);
    check_apart(sequence, plan);
    check_packs(sequence, plan);
    CHECK(plan.arena_bytes <= sum_of(sequence, plan));
  }
}

TEST_CASE("the same sequence gives the same plan", "[memory_plan]") {
  const auto sequence = RandomSequence(7).make();
  const auto a = plan_memory(sequence.steps, sequence.blocks);
  const auto b = plan_memory(sequence.steps, sequence.blocks);
  CHECK(a.arena_bytes == b.arena_bytes);
  for (std::size_t i = 0; i < a.placements.size(); ++i) CHECK(a.placements[i].offset == b.placements[i].offset);
}

TEST_CASE("a chain needs two blocks, however long it is", "[memory_plan]") {
  for (const int length : {2, 3, 10, 50}) {
    const auto sequence = chain(length);
    CHECK(plan_memory(sequence.steps, sequence.blocks).arena_bytes == 2 * 1024);
  }
}

TEST_CASE("blocks that take little memory together share none", "[memory_plan]") {
  const auto sequence = chain(10);
  const auto apart = plan_memory(sequence.steps, sequence.blocks, 10 * 1024);
  CHECK(apart.arena_bytes == 10 * 1024);
  check_apart(sequence, apart);
  CHECK(plan_memory(sequence.steps, sequence.blocks, 10 * 1024 - 1).arena_bytes == 2 * 1024);
}

TEST_CASE("the memory of a kept block is not reused after its last reader", "[memory_plan]") {
  auto sequence = chain(10);
  sequence.blocks[0].kept = true;
  const auto plan = plan_memory(sequence.steps, sequence.blocks);
  CHECK(plan.arena_bytes == 3 * 1024);
  check_apart(sequence, plan);
}

TEST_CASE("a block that is written and never read still has a place", "[memory_plan]") {
  Sequence sequence;
  sequence.blocks = {{64}, {64}};
  sequence.steps = {{{}, {0, 1}, {}}};
  const auto plan = plan_memory(sequence.steps, sequence.blocks);
  CHECK(plan.placements[0].offset != plan.placements[1].offset);
  CHECK(plan.arena_bytes == 128);
}

TEST_CASE("parts of a pack are computed in their places", "[memory_plan]") {
  Sequence sequence;
  sequence.blocks = {{100}, {40}, {192}};
  sequence.steps = {{{}, {0}, {}}, {{0}, {1}, {}}, {{0, 1}, {2}, {0, 128}}};
  const auto plan = plan_memory(sequence.steps, sequence.blocks);
  CHECK(plan.arena_bytes == 192);
  CHECK(plan.placements[0].parent == 2);
  CHECK(plan.placements[1].parent == 2);
  CHECK(plan.placements[1].offset == 128);
}

TEST_CASE("parts lie in a pack that has its own memory", "[memory_plan]") {
  Sequence sequence;
  sequence.blocks = {{64}, {64, false}};
  sequence.steps = {{{}, {0}, {}}, {{0}, {1}, {0}}};
  const auto plan = plan_memory(sequence.steps, sequence.blocks);
  CHECK(plan.placements[0].parent == 1);
  CHECK(plan.arena_bytes == 0);
}

TEST_CASE("an empty sequence needs no memory", "[memory_plan]") {
  const auto plan = plan_memory({}, {});
  CHECK(plan.arena_bytes == 0);
  CHECK(plan.placements.empty());
}

}  // namespace troupe::ops_test
