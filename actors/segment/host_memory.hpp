#pragma once

#include "troupe/actors/segment/segment_memory.hpp"

namespace troupe {

/// The memory of a segment on the host. Tasks read parameters, constants and tensors of other segments where they lie.
class HostMemory final : public SegmentMemory {
 public:
  explicit HostMemory(const SegmentMemorySetup& setup) : SegmentMemory(setup) { allocate_slots(setup); }

  const Tensor& parameter(const ParameterRef& ref) override { return store().borrowed(ref); }
  Tensor constant(const Tensor& value) override { return value; }
  const Tensor& receive(std::int32_t port, const Tensor& arrived) override;
  SentTensor send(std::int32_t output, std::uint32_t slot, const Tensor& tensor) override;

 private:
  /// A slot is pinned for the first device of this process that reads the edge.
  Tensor make_slot(const Plan& plan, const PlanEdge& edge, const Place& place) const override;
};

}  // namespace troupe
