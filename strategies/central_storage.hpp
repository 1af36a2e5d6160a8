#pragma once

#include "troupe/strategies/parameter_server.hpp"

namespace troupe {

/// Parameters lie in one place, where the gradients of all replicas are summed and applied; the replicas compute.
class CentralStorage final : public ParameterServer {
 public:
  CentralStorage(const std::vector<Place>& replicas, const Place& storage)
      : ParameterServer(replicas, {storage}, ConsistencyRule::synchronous(static_cast<int>(replicas.size()))) {}
};

}  // namespace troupe
