#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// Parameters and optimizer state, one copy a replica. It outlives plans: a plan that updates them works on these
/// tensors in place, and while no plan runs anyone may read them.
class ParameterStore {
 public:
  explicit ParameterStore(std::uint64_t seed) : seed_(seed) {}

  /// Makes sure that every parameter of the graph is there for a replica on a device. New ones start as on
  /// a replica that is there already, or else as their initializer says. Throws Error if one is there with another
  /// shape.
  void add(const Graph& graph, int replica, Device device);
  /// A parameter. Throws Error if it is not there.
  const Tensor& get(const std::string& name, int replica) const;

  /// Names of the trained parameters, in the order of the graph that brought them.
  const std::vector<std::string>& trained() const { return trained_; }
  /// xxh3 (64 bits, hexadecimal) of all trained parameters of a replica in order.
  std::string hash(int replica = 0) const;
  /// Number of trained values.
  std::int64_t trained_elements() const;

 private:
  std::uint64_t seed_;
  std::vector<std::string> trained_;
  std::map<std::pair<std::string, int>, Tensor> tensors_;
};

}  // namespace troupe
