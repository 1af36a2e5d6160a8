#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/ops/nn/optimizer.hpp"

namespace troupe {

/// The parameter to which a part belongs, and the rows of the part.
struct PartOf {
  std::string parameter;
  RowRange rows;
  TensorInfo whole;  ///< shape and dtype of the whole parameter
};

/// A trained parameter, or a part of a trained parameter if `part_of` is set.
struct TrainedParameter {
  std::string name;
  TensorInfo info;
  Initializer initializer;
  std::optional<PartOf> part_of = {};
  bool row_sparse = false;
};

/// Returns the part of a whole parameter that consists of these rows. The name of the part ends with the first row and
/// the row after the last: `w[0:3]`.
TrainedParameter part_of(const TrainedParameter& whole, const RowRange& rows);

/// Returns the graph in which an optimizer updates `parameters` from a block of gradients; see ShardUpdate. The suffix
/// is appended to the names of the parameters, and so becomes part of the names of the optimizer's state. With
/// `weighted` the element of the block after the magnitude is the number by which the update divides the gradients; see
/// SplitTraining::weighted. Throws Error if the optimizer needs whole parameters, as LAMB does, and `parameters` has a
/// part of one.
Graph update_graph(const Optimizer& optimizer, std::uint64_t seed, const std::vector<TrainedParameter>& parameters,
                   const std::string& suffix = {}, bool weighted = false);

/// A parameter, or a state of the optimizer, that an update changes: the stored value, and the rows of it that the
/// update has.
struct StoredValue {
  PlanParameter parameter;
  /// The rows that the update has. std::nullopt: all rows.
  std::optional<RowRange> rows = {};
};

/// Returns the values that an update changes, in the order of the sources of its graph. Optimizer state with the shape
/// of a part is stored as the part's rows of the whole parameter's state. Other state of a part, such as the number of
/// its updates, is stored as a copy of the whole parameter's state: the replica of the copy is the part's first row.
std::vector<StoredValue> stored_values(const Graph& update, std::span<const TrainedParameter> parameters);

}  // namespace troupe
