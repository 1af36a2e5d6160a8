#include "troupe/strategies/step/separable_update.hpp"

#include <algorithm>
#include <span>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

/// True if a value with this shape that the update of a row-sparse parameter changes can only be the number of updates
/// of the parameter: a scalar of an update by an op that counts.
bool counts_updates(const Graph& update, const TensorInfo& info) {
  return info.shape.rank() == 0 && std::ranges::all_of(update.nodes(), [](const Node& node) {
           return node.op->kind != OpKind::update || node.is(kAdamUpdate);
         });
}

void expect_own_norm(const Graph& update, std::size_t shards, const char* place) {
  for (const auto& node : update.nodes())
    if (node.is(kGlobalNormFactor) && shards > 1)
      throw Error(place,
                  "clips at the norm of all gradients, which do not come together in one place; clip "
                  "values, or use one server and no row-sparse parameters");
}

void expect_separable_rows(const ParameterRows& rows, const char* place) {
  for (const auto& node : rows.update.nodes())
    if (node.is(kAccumulate) || node.is(kAverage))
      throw Error(place, "accumulates or averages in every step, but of '" + rows.parameter.name +
                             "' a shard gets the rows that are looked up");
  for (const auto& stored : stored_values(rows.update, std::span(&rows.chunk, 1)))
    if (!stored.rows && !counts_updates(rows.update, stored.parameter.info))
      throw Error(place, "has the state '" + stored.parameter.ref.name + "', which is not one of rows");
}

}  // namespace

void expect_separable(const SplitTraining& split, const char* place) {
  for (const auto& rows : split.looked_up) expect_separable_rows(rows, place);
  for (const auto& group : split.groups) expect_own_norm(group.update, split.shards(), place);
  for (const auto& rows : split.looked_up) expect_own_norm(rows.update, split.shards() + 1, place);
}

}  // namespace troupe
