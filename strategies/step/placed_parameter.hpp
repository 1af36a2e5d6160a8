#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "troupe/strategies/step/trained_parameter.hpp"

namespace troupe {

/// The server of a parameter, or of some of its rows. All entries with the same server form a group, except entries of
/// parameters of which rows are looked up.
struct PlacedParameter {
  std::size_t parameter;  ///< index in the list that PlaceParameters gets
  std::optional<RowRange> rows = {};
  std::size_t server = 0;
};

/// A function that places parameters. It must place every row of every parameter once. It gets the parameters in the
/// order in which the backward pass makes their gradients; parameters of which rows are looked up come last.
using PlaceParameters = std::function<std::vector<PlacedParameter>(std::span<const TrainedParameter> parameters)>;

/// Places all parameters on server 0, as one group.
std::vector<PlacedParameter> all_together(std::span<const TrainedParameter> parameters);

/// Throws Error unless every row of every parameter is placed once.
void expect_each_once(std::span<const PlacedParameter> placed, std::span<const TrainedParameter> parameters);

}  // namespace troupe
