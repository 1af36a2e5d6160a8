#include "troupe/strategies/step/trained_parameter.hpp"

#include <algorithm>

#include "troupe/actors/shard/shard_update.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/math.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/strategies/step/step_decision.hpp"

namespace troupe {

namespace {

/// Throws Error if the update needs the norm of a whole parameter, as LAMB does, and `parameters` has a part of one.
void expect_row_by_row(const Graph& update, const std::vector<TrainedParameter>& parameters) {
  const auto part =
      std::ranges::find_if(parameters, [](const auto& parameter) { return parameter.part_of.has_value(); });
  if (part == parameters.end()) return;
  for (const auto& node : update.nodes())
    if (node.is(kLambUpdate))
      throw Error("lamb", "takes the size of a whole parameter, and so cannot update '" + part->name + "' alone");
}

/// The parameter with this name, or whose optimizer state has this name: the one with the longest name if several
/// match, null if none does.
const TrainedParameter* owner_of(const std::string& name, std::span<const TrainedParameter> parameters) {
  const TrainedParameter* owner = nullptr;
  for (const auto& parameter : parameters) {
    const bool matches = name == parameter.name || name.starts_with(parameter.name + "/");
    if (matches && (owner == nullptr || owner->name.size() < parameter.name.size())) owner = &parameter;
  }
  return owner;
}

}  // namespace

TrainedParameter part_of(const TrainedParameter& whole, const RowRange& rows) {
  auto part = whole;
  part.name += "[" + std::to_string(rows.first) + ":" + std::to_string(rows.end()) + "]";
  part.info.shape = whole.info.shape.with_first(rows.count);
  part.part_of = {whole.name, rows, whole.info};
  return part;
}

Graph update_graph(const Optimizer& optimizer, std::uint64_t seed, const std::vector<TrainedParameter>& parameters,
                   const std::string& suffix, bool weighted) {
  GraphBuilder builder({.training = true, .seed = seed});
  // The block of gradients begins with the magnitude; see ShardUpdate.
  std::vector<TensorInfo> infos{{Shape{}, DType::float32}};
  for (const auto& parameter : parameters) infos.push_back(parameter.info);
  const auto offsets = pack_offsets(infos);
  const auto block = builder.input(ShardUpdate::kGradients, Shape{offsets.back()});
  Value weight, divisor;
  if (weighted) {
    weight = view_at(block, 1, {});
    divisor = divisor_of(weight);
  }
  std::vector<Value> targets, gradients;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& parameter = parameters[i];
    Node node{.op = &kParameter, .name = parameter.name + suffix, .initializer = parameter.initializer};
    node.trainable = true;
    if (parameter.row_sparse) node.attributes = node.attributes.with(kRowSparse, true);
    targets.push_back(builder.copy_source(node, parameter.info));
    const auto gradient = view_at(block, offsets[i + 1], parameter.info.shape);
    gradients.push_back(weighted ? div(gradient, divisor) : gradient);
  }
  const auto name_of_whole = [&](const std::string& name) {
    const auto* owner = owner_of(name, parameters);
    return owner != nullptr && owner->part_of ? owner->part_of->parameter : owner != nullptr ? owner->name : name;
  };
  const auto apply_if = step_is_finite(view_at(block, 0, {}));
  optimizer.renamed(name_of_whole).apply(targets, gradients, builder.batch_info(), apply_if, weight);
  auto update = eliminate_dead_code(std::move(builder).build());
  expect_row_by_row(update, parameters);
  return update;
}

std::vector<StoredValue> stored_values(const Graph& update, std::span<const TrainedParameter> parameters) {
  std::vector<StoredValue> stored;
  for (const auto id : update.sources(kParameter)) {
    const auto& node = update.producer(id);
    PlanParameter parameter{{node.name, 0}, update.info(id), {}, node.initializer, node.trainable};
    const auto* owner = owner_of(node.name, parameters);
    if (owner == nullptr || !owner->part_of) {
      stored.push_back({std::move(parameter)});
      continue;
    }
    const auto& [whole_name, rows, whole] = *owner->part_of;
    parameter.ref.name = whole_name + node.name.substr(owner->name.size());
    if (!(owner->info == parameter.info)) {
      parameter.ref.replica = static_cast<int>(rows.first);
      stored.push_back({std::move(parameter)});
      continue;
    }
    parameter.info = whole;
    stored.push_back({std::move(parameter), rows});
  }
  return stored;
}

}  // namespace troupe
