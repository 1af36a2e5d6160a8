#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/graph/graph.hpp"
#include "troupe/ops/nn/optimizer.hpp"

namespace troupe {

/// Which rows of which parameter.
struct PartOf {
  std::string parameter;
  RowRange rows;
  TensorInfo whole;
};

/// A parameter that is trained, or some rows of one.
struct TrainedParameter {
  std::string name;
  TensorInfo info;
  Initializer initializer;
  std::optional<PartOf> part_of = {};
  bool row_sparse = false;
};

/// Those rows of a whole parameter; the name gets them behind it.
TrainedParameter part_of(const TrainedParameter& whole, const RowRange& rows);

/// The update of some parameters by an optimizer; see ShardUpdate. The suffix makes other names of theirs, so that the
/// optimizer's state gets other names too. Throws Error if the optimizer needs more of a parameter than there is.
Graph update_graph(const Optimizer& optimizer, std::uint64_t seed, const std::vector<TrainedParameter>& parameters,
                   const std::string& suffix = {});

/// A parameter or state of an update in the store.
struct StoredValue {
  PlanParameter parameter;
  /// Nothing: all of it.
  std::optional<RowRange> rows = {};
};

/// What an update works on, in the order of the sources of its graph. State of the shape of some rows is the same rows
/// of the state of the whole parameter; other state is that of the rows alone.
std::vector<StoredValue> stored_values(const Graph& update, std::span<const TrainedParameter> parameters);

}  // namespace troupe
