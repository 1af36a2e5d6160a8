#pragma once

#include <functional>
#include <map>
#include <string>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/graph/graph.hpp"

namespace troupe {

struct LowerOptions {
  Place place = {};
  int replica = 0;
  /// The outputs that feed the inputs of the graph, by name.
  std::map<std::string, OutputRef> inputs = {};
  /// The outputs that send parameters which lie elsewhere, by name; the graph does not update them.
  std::map<std::string, OutputRef> parameters = {};
  /// Buffers of every edge.
  std::int32_t capacity = 1;
  /// Prefix of the names of the actors.
  std::string prefix = {};
  /// The actors are never contracted with others into a segment.
  bool alone = false;
  /// Makes the actor of a collective node, whose input is connected afterwards. Needed if the graph has any.
  std::function<ActorId(Plan&, const Node&)> make_collective = {};
};

/// Adds the ops of a graph to a plan as the actors of one replica. Views become views of edges. A parameter that the
/// graph updates is an edge from the update to its readers with one token, in place in the store; other parameters are
/// read from the store. An op that reads only parameters and constants gets one more input, from a feeder, that tells
/// it when a step begins. Returns the output that carries each output of the graph. Throws Error if an input has no
/// feeder, a feeder no input, no op computes an output, or the device has no kernel for an op.
std::map<std::string, OutputRef> lower(Plan& plan, const Graph& graph, const LowerOptions& options);

}  // namespace troupe
