#pragma once

#include <string>
#include <vector>

#include "troupe/actors/shard/row_lookup.hpp"
#include "troupe/ops/graph/graph.hpp"
#include "troupe/ops/nn/optimizer.hpp"

namespace troupe {

/// A row-sparse parameter of a model that does nothing with it but look up rows.
struct LookedUpParameter {
  std::string name;
  Initializer initializer;
  RowLookup lookup;
};

namespace names {
/// Outputs of index_graph(): which rows of the parameter.
std::string indices_of(const std::string& parameter);
/// Inputs of with_rows_as_inputs().
std::string rows_of(const std::string& parameter);
}  // namespace names

/// Those of a forward graph that the optimizer trains, and whose indices follow from the inputs alone.
std::vector<LookedUpParameter> find_lookups(const Graph& forward, const Optimizer& optimizer);

/// What of the forward graph computes the indices. It has all inputs of the forward graph.
Graph index_graph(const Graph& forward, const std::vector<LookedUpParameter>& looked_up);

/// The forward graph with inputs of the rows, see RowLookup::rows(), in place of those parameters.
Graph with_rows_as_inputs(const Graph& forward, const std::vector<LookedUpParameter>& looked_up);

}  // namespace troupe
