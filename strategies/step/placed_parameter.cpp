#include "troupe/strategies/step/placed_parameter.hpp"

#include <algorithm>
#include <string>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

/// Throws Error unless every row of the parameter is placed once: in one of `ranges`, or by a placement of the whole
/// parameter, of which there are `times_whole`.
void expect_whole(const TrainedParameter& parameter, std::vector<RowRange> ranges, std::size_t times_whole) {
  std::ranges::sort(ranges);
  std::int64_t next = 0;
  for (const auto& rows : ranges) {
    if (rows.first != next || rows.count < 1)
      throw Error("strategy", "row " + std::to_string(std::min(rows.first, next)) + " of '" + parameter.name +
                                  "' lies nowhere, or in two places");
    next = rows.end();
  }
  const bool whole = ranges.empty() ? times_whole == 1 : times_whole == 0 && next == parameter.info.shape[0];
  if (!whole) throw Error("strategy", "every row of '" + parameter.name + "' must lie in exactly one place");
}

}  // namespace

std::vector<PlacedParameter> all_together(std::span<const TrainedParameter> parameters) {
  std::vector<PlacedParameter> placed;
  for (std::size_t i = 0; i < parameters.size(); ++i) placed.push_back({i});
  return placed;
}

void expect_each_once(std::span<const PlacedParameter> placed, std::span<const TrainedParameter> parameters) {
  std::vector<std::vector<RowRange>> ranges(parameters.size());
  std::vector<std::size_t> whole(parameters.size());
  for (const auto& [parameter, rows, server] : placed) {
    if (rows)
      ranges.at(parameter).push_back(*rows);
    else
      ++whole.at(parameter);
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) expect_whole(parameters[i], ranges[i], whole[i]);
}

}  // namespace troupe
