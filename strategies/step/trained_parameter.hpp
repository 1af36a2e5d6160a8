#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/graph/graph.hpp"
#include "troupe/ops/nn/optimizer.hpp"

namespace troupe {

/// Rows of a parameter.
struct PartOf {
  std::string parameter;
  RowRange rows;
  TensorInfo whole;  ///< of the parameter
};

/// A trained parameter, or a part of one.
struct TrainedParameter {
  std::string name;
  TensorInfo info;
  Initializer initializer;
  std::optional<PartOf> part_of = {};
  bool row_sparse = false;
};

/// The part of a whole parameter that consists of these rows. Its name ends with the rows: `w[0:3]`.
TrainedParameter part_of(const TrainedParameter& whole, const RowRange& rows);

/// The update of some parameters by an optimizer; see ShardUpdate. The suffix is appended to the names of the
/// parameters, and so becomes part of the names of the optimizer's state. Throws Error if the optimizer needs a whole
/// parameter of which there is a part.
Graph update_graph(const Optimizer& optimizer, std::uint64_t seed, const std::vector<TrainedParameter>& parameters,
                   const std::string& suffix = {});

/// A parameter or state of an update, as it lies in the store.
struct StoredValue {
  PlanParameter parameter;
  /// The rows that the update has. Nothing: all.
  std::optional<RowRange> rows = {};
};

/// The values that an update changes, in the order of the sources of its graph. State with the shape of a part lies in
/// the same rows of the whole parameter's state. Other state belongs to the part alone.
std::vector<StoredValue> stored_values(const Graph& update, std::span<const TrainedParameter> parameters);

}  // namespace troupe
