#pragma once

#include <string>
#include <vector>

#include "troupe/actors/shard/row_lookup.hpp"
#include "troupe/ops/graph/graph.hpp"
#include "troupe/ops/nn/optimizer.hpp"

namespace troupe {

/// A row-sparse parameter that the model uses only to look up rows.
struct LookedUpParameter {
  ValueId value;  ///< in the forward graph
  std::string name;
  Initializer initializer;
  RowLookup lookup;
};

namespace names {
/// Outputs of index_graph(): the indices of the rows.
inline std::string indices_of(const std::string& parameter) {
  return "indices/" + parameter;
}
/// Inputs of with_rows_as_inputs(): the rows.
inline std::string rows_of(const std::string& parameter) {
  return "rows/" + parameter;
}
}  // namespace names

/// Finds the looked-up parameters of a forward graph that the optimizer trains. Their indices depend on no parameter.
std::vector<LookedUpParameter> find_lookups(const Graph& forward, const Optimizer& optimizer);

/// The ops of the forward graph that compute the indices. The graph has all inputs of the forward graph.
Graph index_graph(const Graph& forward, const std::vector<LookedUpParameter>& looked_up);

/// The forward graph with inputs for the rows, see RowLookup::rows(), in place of the looked-up parameters.
Graph with_rows_as_inputs(const Graph& forward, const std::vector<LookedUpParameter>& looked_up);

}  // namespace troupe
