#pragma once

#include <utility>
#include <vector>

#include "troupe/strategies/parameter_server.hpp"

namespace troupe {

/// Parameters lie in one place, where the gradients of all replicas are summed and applied. The replicas compute.
class CentralStorage final : public ParameterServer {
 public:
  CentralStorage(const std::vector<Place>& replicas, const Place& storage, ServerOptions options = {})
      : ParameterServer(replicas, {storage}, ConsistencyRule::synchronous(static_cast<int>(replicas.size())),
                        std::move(options)) {}
};

}  // namespace troupe
