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
  /// The feeders: for every input of the graph, by name, the output of an actor of the plan whose tensors it receives.
  std::map<std::string, OutputRef> inputs = {};
  /// Parameters that an actor of the plan sends, by name, with the output that carries each. The graph must not update
  /// them. All other parameters are in the store.
  std::map<std::string, OutputRef> parameters = {};
  /// The number of slots of each edge that leads from an op. The edge of an updated parameter has one slot.
  std::int32_t capacity = 1;
  /// Prefix of the names of the actors.
  std::string prefix = {};
  /// True: each op of the graph is a segment of its own in every grain; see PlanActor::alone.
  bool alone = false;
  /// Adds the actor of a collective node to the plan and returns the actor; lower() then connects its inputs. Must be
  /// set if the graph has a collective.
  std::function<ActorId(Plan&, const Node&)> make_collective = {};
};

/// Adds the ops of a graph to a plan as the actors of one replica. A view becomes an input that is a view of an edge, a
/// parameter or a constant. The readers of a parameter that the graph updates read an edge from the update; the edge
/// has one token, and its slot is the parameter's memory in the store. Other parameters are read from the store. An op
/// that reads only parameters that the graph does not update, and constants, gets one more input, from a feeder, that
/// tells it when a step begins. Returns, by name, the output that carries each output of the graph. Throws Error if an
/// input has no feeder; a feeder names no input or no output of an actor, or carries another shape or dtype; no op
/// computes an output; the device has no kernel for an op; the graph has a collective but `make_collective` is not set;
/// or an update changes a value that is no parameter of the store or that another update changes.
std::map<std::string, OutputRef> lower(Plan& plan, const Graph& graph, const LowerOptions& options);

}  // namespace troupe
