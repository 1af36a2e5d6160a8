#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "troupe/tests/transport/groups.hpp"
#include "troupe/transport/link_reader.hpp"

namespace troupe::testing {

/// The two ends of a link between endpoints 0 and 1, each with a reader.
struct LinkEnds {
  explicit LinkEnds(const EndpointOptions& options)
      : endpoints(make_endpoints(2, options)), a(endpoints[0]->link(1, "x")), b(endpoints[1]->link(0, "x")) {}
  /// The endpoints must know each other as peers 0 and 1.
  LinkEnds(std::shared_ptr<Endpoint> first, std::shared_ptr<Endpoint> second)
      : endpoints{std::move(first), std::move(second)}, a(endpoints[0]->link(1, "x")), b(endpoints[1]->link(0, "x")) {}

  std::vector<std::shared_ptr<Endpoint>> endpoints;
  LinkReader a, b;
};

/// A frame with a payload int64[elements], each element of which is the step.
inline Frame numbered(std::int64_t step, std::int64_t elements, std::int64_t priority = Frame::kUrgent) {
  Tensor payload(Shape{elements}, DType::int64);
  for (auto& element : payload.mutable_data<std::int64_t>()) element = step;
  return {{.type = FrameType::tensor_ready, .edge = 5, .step = step}, payload, priority};
}

}  // namespace troupe::testing
