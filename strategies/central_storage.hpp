#pragma once

#include <utility>
#include <vector>

#include "troupe/strategies/parameter_server.hpp"

namespace troupe {

/// A parameter server strategy with one server, at `storage`. In every step the replicas compute gradients; the server
/// sums the gradients of all replicas and updates the parameters.
class CentralStorage final : public ParameterServer {
 public:
  CentralStorage(const std::vector<Place>& replicas, const Place& storage, ServerOptions options = {})
      : ParameterServer(replicas, {storage}, ConsistencyRule::synchronous(static_cast<int>(replicas.size())),
                        std::move(options)) {}
};

}  // namespace troupe
