#pragma once

#include <string>
#include <vector>

#include "troupe/actors/shard/row_lookup.hpp"
#include "troupe/ops/graph/graph.hpp"
#include "troupe/ops/nn/optimizer.hpp"

namespace troupe {

/// A row-sparse parameter that the model uses only to look up rows.
struct LookedUpParameter {
  ValueId value;  ///< the parameter in the forward graph
  std::string name;
  Initializer initializer;
  RowLookup lookup;
};

namespace names {
/// The name of the output of index_graph() with the indices of the rows of a parameter that are looked up.
inline std::string indices_of(const std::string& parameter) {
  return "indices/" + parameter;
}
/// The name of the input of with_rows_as_inputs() for the rows of a parameter that are looked up.
inline std::string rows_of(const std::string& parameter) {
  return "rows/" + parameter;
}
}  // namespace names

/// Finds the row-sparse parameters of a forward graph that the optimizer trains and of which the model only looks up
/// rows, by gather ops. A parameter is left out if the indices of a lookup depend on a parameter, have no batch axis,
/// or differ in dtype from those of another lookup.
std::vector<LookedUpParameter> find_lookups(const Graph& forward, const Optimizer& optimizer);

/// Returns the graph of the ops of the forward graph that compute the indices of the looked-up rows, with the outputs
/// indices_of(). The result has all inputs of the forward graph.
Graph index_graph(const Graph& forward, const std::vector<LookedUpParameter>& looked_up);

/// Returns the forward graph with an input rows_of() for the rows of each looked-up parameter, see RowLookup::rows(),
/// in place of the parameter.
Graph with_rows_as_inputs(const Graph& forward, const std::vector<LookedUpParameter>& looked_up);

}  // namespace troupe
