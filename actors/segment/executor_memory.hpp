#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/plan/checked_plan.hpp"
#include "troupe/actors/plan/segment_layout.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/tensor.hpp"

namespace troupe {

/// Calls `allocate` and returns its tensor. An Error of `allocate` is thrown again with `purpose` as its place.
template <class Allocate>
Tensor memory_for(const std::string& purpose, Allocate allocate) {
  try {
    return allocate();
  } catch (const Error& error) {
    throw Error(purpose, error.what());
  }
}

/// Allocates the arena of a segment. If that fails, throws Error that names the actor with the largest value in it.
Tensor arena_of(const Plan& plan, const PlanSegment& segment, const SegmentLayout& layout);

/// The scratch memory of kernels: of those of one segment, or of those of the segments that share it. Used on one
/// thread at a time.
class ScratchMemory {
 public:
  explicit ScratchMemory(Device device) : device_(device) {}

  /// Makes room for `bytes` bytes. A call with more bytes than all calls before replaces the memory, so no kernel may
  /// run. If the allocation fails, throws Error with `purpose` as its place.
  void reserve(std::size_t bytes, const std::string& purpose);
  /// Null before the first call of reserve().
  std::byte* address() const { return memory_ ? memory_.address() : nullptr; }

 private:
  Device device_;
  Tensor memory_;
};

/// The memory that segments of one executor share.
struct ExecutorMemory {
  /// Makes the memory of the executor that runs the segments with these numbers, and allocates their arena.
  ExecutorMemory(const CheckedPlan& plan, const std::vector<std::int32_t>& segments,
                 std::vector<Tensor> shared_buffers);

  /// The buffers that edges share, by PlanEdge::shared_buffer. A buffer of another process has an empty handle.
  std::vector<Tensor> buffers;
  /// The arena of the segments for which shares_arena() is true.
  Tensor arena;
  /// The scratch memory of the segments for which shares_scratch() is true.
  std::shared_ptr<ScratchMemory> scratch;
};

}  // namespace troupe
