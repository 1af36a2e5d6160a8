#include "troupe/actors/segment/host_memory.hpp"

#include <algorithm>

#include "troupe/actors/plan/edge_readers.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

const Tensor& HostMemory::receive(std::int32_t, const Tensor& arrived) {
  if (!arrived.host_accessible()) throw Error(name(), "reads host memory, but " + to_string(arrived) + " came");
  return arrived;
}

SentTensor HostMemory::send(std::int32_t, std::uint32_t, const Tensor& tensor) {
  return {tensor};
}

Tensor HostMemory::make_slot(const Plan& plan, const PlanEdge& edge, const Place& place) const {
  const auto shape = edge.info.shape.with_rows(plan.max_rows);
  const auto reader = std::ranges::find_if(edge.consumers, [&](const PlanConsumer& consumer) {
    return is_on_device(plan.actors[consumer.actor], place.process);
  });
  if (reader == edge.consumers.end()) return Tensor(shape, edge.info.dtype, place.device);
  return Tensor::pinned(shape, edge.info.dtype, plan.actors[reader->actor].place.device);
}

}  // namespace troupe
