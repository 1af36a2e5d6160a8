#include "troupe/strategies/step/split_training.hpp"

#include <algorithm>
#include <map>

#include "troupe/actors/shard/row_shard.hpp"
#include "troupe/actors/shard/shard_update.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/fused/finite.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/cast.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/math.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/library/slice.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/ops/passes/rewrite.hpp"
#include "troupe/strategies/step/hook_site.hpp"
#include "troupe/strategies/step/rows_apart.hpp"
#include "troupe/strategies/step/separable_update.hpp"
#include "troupe/strategies/step/step_decision.hpp"

namespace troupe {

namespace {

TrainedParameter described(const Graph& graph, ValueId id) {
  const auto& node = graph.producer(id);
  return {node.name, graph.info(id), node.initializer, {}, GraphBuilder::is_row_sparse(node)};
}

/// Splits one training step; see split_training(). run() must be called once.
class Splitter {
 public:
  Splitter(const TrainingSpec& spec, const std::vector<Field>& fields, const SplitOptions& options)
      : spec_(spec),
        hook_(options.hook),
        decides_together_(options.decides_together),
        bound_(bound_of_magnitude(spec.optimizer, options.weights)),
        forward_(forward_graph(spec, fields, Purpose::training)) {
    expect_no_buffers();
    split_.weighted = !options.whole_batches && forward_.has_output(names::loss_weight(0));
    if (!options.whole_batches) expect_no_collectives();
    if (!split_.weighted && forward_.has_output(names::kBatchWeight) && spec.optimizer.accumulated_steps() > 1)
      throw Error("loss",
                  "divides by the weights of a batch, which servers do not know, but the optimizer accumulates the "
                  "gradients of several batches; divide by rows (MeanOver::rows), or use Mirrored");
    if (options.sparse == SparseRows::looked_up) looked_up_ = find_lookups(forward_, spec.optimizer);
    for (const auto id : forward_.sources(kParameter)) split_.names.push_back(forward_.producer(id).name);
    for (const auto id : trained_parameters(forward_, spec.optimizer))
      split_.parameters.push_back(described(forward_, id));
    split_.indices = index_graph(forward_, looked_up_);
    if (!options.whole_batches) expect_weights_travel();
  }

  SplitTraining run(const PlaceParameters& place) {
    GraphBuilder builder(without_all_reduce(with_rows_as_inputs(forward_, looked_up_)));
    std::vector<Value> rows;
    for (const auto id : builder.graph().sources(kInput))
      for (const auto& parameter : looked_up_)
        if (builder.graph().producer(id).name == names::rows_of(parameter.name)) rows.push_back(builder.value(id));
    const auto replica = add_gradients(builder, spec_, rows, loss_of_worker(builder));
    magnitude_ = magnitude_of_worker(builder, replica);
    auto parameters = parameters_of(replica);
    placed_ = place(parameters);
    expect_each_once(placed_, parameters);
    add_groups(replica, parameters);
    if (hook_ != nullptr) encode_groups();
    for (std::size_t g = 0; g < blocks_.size(); ++g) {
      blocks_[g].insert(blocks_[g].begin(),
                        hook_ != nullptr ? not_finite(blocks_[g].front().dtype()) : head_of_block(builder));
      builder.output(names::gradients_of(g), hook_ != nullptr ? concat(blocks_[g], 0) : pack(blocks_[g]));
    }
    builder.output(names::kMagnitude, magnitude_);
    for (std::size_t i = 0; i < looked_up_.size(); ++i) {
      builder.output(names::row_gradients_of(looked_up_[i].name), row_gradients(replica, i));
      add_looked_up(parameters, i);
    }
    expect_separable(split_);
    split_.trainer = spec_.trainer;
    split_.worker = with_parts(eliminate_dead_code(std::move(builder).build()));
    return std::move(split_);
  }

 private:
  void expect_no_buffers() const {
    for (const auto id : forward_.sources(kParameter))
      if (const auto& name = forward_.producer(id).name; forward_.has_output(GraphBuilder::name_of_next(name)))
        throw Error("strategy", "the model updates '" + name + "' itself, which servers do not support");
  }

  /// Throws Error if a loss divides by weights that do not travel with the gradients: those of several means, or with
  /// gradients that a hook encodes or of looked-up rows.
  void expect_weights_travel() const {
    const bool one_mean = split_.weighted && !forward_.has_output(names::loss_sum(1));
    if (!forward_.has_output(names::loss_sum(0)) || (one_mean && hook_ == nullptr && looked_up_.empty())) return;
    throw Error("loss",
                "divides by the weights of a whole batch, of which each worker has a part, and is a sum of losses, or "
                "has a hook or looked-up rows on its way; divide by rows (MeanOver::rows), or use Mirrored or an "
                "asynchronous parameter server");
  }

  /// The sum of the weighted losses of a worker, if the servers divide by the weights of all workers. Else the invalid
  /// Value.
  Value loss_of_worker(GraphBuilder& builder) const {
    return split_.weighted ? builder.value(builder.graph().output(names::loss_sum(0))) : Value{};
  }

  /// Returns the magnitude of the worker; see magnitude_of(). 0 if TrainingSpec::check_finite is false.
  Value magnitude_of_worker(GraphBuilder& builder, const ReplicaGradients& replica) const {
    if (!spec_.check_finite) return replica.loss_check;
    auto all = replica.gradients;
    all.insert(all.end(), replica.further.begin(), replica.further.end());
    if (!split_.weighted) return magnitude_of(replica.loss_check, all, bound_);
    const auto weight = builder.value(builder.graph().output(names::loss_weight(0)));
    return magnitude_of_sums(replica.loss_check, all, weight, bound_);
  }

  /// The magnitude, with which a block begins, and the sum of the worker's weights if the servers divide by it.
  Value head_of_block(GraphBuilder& builder) const {
    if (!split_.weighted) return magnitude_;
    const auto weight = builder.value(builder.graph().output(names::loss_weight(0)));
    return concat({reshape(magnitude_, {1}), reshape(weight, {1})}, 0);
  }

  void expect_no_collectives() const {
    const auto* sum_of_weights = forward_.has_output(names::kBatchWeight)
                                     ? &forward_.producer(forward_.root_of(forward_.output(names::kBatchWeight)))
                                     : nullptr;
    for (const auto& node : forward_.nodes())
      if (node.op->kind == OpKind::collective && &node != sum_of_weights)
        throw Error("strategy", "the model needs values of all replicas ('" + node.name +
                                    "'), which workers of servers do not exchange");
    expect_rows_apart(forward_);
  }

  /// The parameters in the order in which the backward pass makes their gradients, then those of which rows are looked
  /// up.
  std::vector<TrainedParameter> parameters_of(const ReplicaGradients& replica) const {
    std::vector<TrainedParameter> parameters;
    for (const auto& parameter : replica.parameters)
      parameters.push_back(described(parameter.builder().graph(), parameter.id()));
    for (const auto& [value, name, initializer, lookup] : looked_up_)
      parameters.push_back({name, lookup.parameter, initializer, {}, true});
    return parameters;
  }

  /// Adds the groups, and to blocks_ the gradients of each group.
  void add_groups(const ReplicaGradients& replica, const std::vector<TrainedParameter>& parameters) {
    std::map<std::size_t, std::vector<PlacedParameter>> by_server;
    for (const auto& placed : placed_)
      if (placed.parameter < replica.parameters.size()) by_server[placed.server].push_back(placed);
    for (const auto& [server, members] : by_server) {
      auto& block = blocks_.emplace_back();
      auto& group = split_.groups.emplace_back();
      group.server = server;
      for (const auto& [i, rows, of_server] : members) {
        const auto& whole = parameters[i];
        group.parameters.push_back(rows ? part_of(whole, *rows) : whole);
        block.push_back(rows ? view_at(replica.gradients[i], rows->first * whole.info.shape.row_elements(),
                                       group.parameters.back().info.shape)
                             : replica.gradients[i]);
      }
      group.update = update_graph(spec_.optimizer, spec_.seed, group.parameters, {}, split_.weighted);
    }
  }

  /// Replaces each block of gradients by the hook's encoding, and sets ParameterGroup::decode of its group. The
  /// magnitude of the replica becomes that of the gradients before and after encoding: a hook may lose a NaN, or make
  /// numbers that are not finite.
  void encode_groups() {
    GradientHook::NextStates next_states;
    std::vector<Value> checked{magnitude_};
    for (std::size_t g = 0; g < blocks_.size(); ++g) {
      GraphBuilder::Scope scope(magnitude_.builder(), "hook/" + std::to_string(g));
      std::vector<std::string> parameters;
      for (const auto& parameter : split_.groups[g].parameters) parameters.push_back(parameter.name);
      const auto name = name_of_hook_site(spec_, *hook_, parameters, 0, blocks_[g]);
      std::vector<Shape> shapes;
      for (const auto& gradient : blocks_[g]) shapes.push_back(gradient.shape());
      const auto encoded = hook_->encode(blocks_[g], {name, next_states});
      split_.groups[g].decode = decoder(encoded.info(), shapes);
      const auto decoded = hook_->decode(encoded, shapes);
      checked.insert(checked.end(), decoded.begin(), decoded.end());
      blocks_[g] = {encoded};
    }
    if (spec_.check_finite) magnitude_ = largest_magnitude(checked, bound_);
    failed_ = is_skipped(step_is_finite(magnitude_));
    if (!next_states.empty()) set_states(next_states, states_change());
  }

  /// Returns the flag by which the states of a hook change. Workers that decide together exchange whether they have
  /// failed, so that the states change if the servers apply the step.
  Value states_change() const { return is_skipped(decides_together_ ? all_reduce(scale(failed_, 1.0)) : failed_); }

  /// Returns the first element of what a worker sends with a hook: 0 if the magnitude of the replica is finite, else 1,
  /// because any dtype has these numbers.
  Value not_finite(DType dtype) const { return cast(reshape(failed_, Shape{1}), dtype); }

  /// Returns the graph that decodes not_finite() and an encoding into a block of gradients; see ParameterGroup::decode.
  /// The magnitude of the block is 0 or infinite, which the weight of a worker does not change.
  Graph decoder(const TensorInfo& encoded, const std::vector<Shape>& shapes) const {
    GraphBuilder builder;
    const auto received = builder.input(ShardUpdate::kSent, Shape{1 + encoded.shape.elements()}, encoded.dtype);
    const auto not_finite = reshape(cast(view_at(received, 0, Shape{1}), DType::float32), Shape{});
    std::vector<Value> values{mul(not_finite, rsqrt(at_most(not_finite, 0.5)))};
    const auto decoded = hook_->decode(view_at(received, 1, encoded.shape), shapes);
    values.insert(values.end(), decoded.begin(), decoded.end());
    builder.output(ShardUpdate::kBlock, pack(values));
    return eliminate_dead_code(std::move(builder).build());
  }

  /// Returns the gradients of the rows of looked-up parameter i, in the form of RowLookup::gradients(): float32 of
  /// shape [B, n * width + 1], for n indices per batch row and `width` elements in a row of the parameter. The last
  /// column has the magnitude.
  Value row_gradients(const ReplicaGradients& replica, std::size_t i) const {
    const auto& lookup = looked_up_[i].lookup;
    const auto gradients = reshape(replica.further[i], {kBatch, lookup.indices_per_row() * lookup.width()});
    const auto magnitude = broadcast_to(reshape(magnitude_, {1, 1}), slice(gradients, 1, 0, 1));
    return concat(std::vector{gradients, magnitude}, 1);
  }

  void add_looked_up(const std::vector<TrainedParameter>& parameters, std::size_t i) {
    const auto number = parameters.size() - looked_up_.size() + i;
    auto& rows = split_.looked_up.emplace_back();
    rows.parameter = parameters[number];
    rows.lookup = looked_up_[i].lookup;
    for (const auto& placed : placed_)
      if (placed.parameter == number)
        rows.parts.push_back({placed.rows.value_or(RowRange{0, rows.parameter.info.shape[0]}), placed.server});
    std::ranges::sort(rows.parts, {}, &ParameterRows::Part::rows);
    rows.chunk = part_of(rows.parameter, {0, chunk_rows(rows.parameter.info)});
    rows.update = update_graph(spec_.optimizer, spec_.seed, {rows.chunk});
  }

  /// Returns the worker's graph with each split parameter replaced by the concatenation of its parts.
  Graph with_parts(const Graph& worker) const {
    std::map<std::string, std::vector<TrainedParameter>> parts;
    for (const auto& group : split_.groups)
      for (const auto& parameter : group.parameters)
        if (parameter.part_of) parts[parameter.part_of->parameter].push_back(parameter);
    Rewrite rewrite(worker);
    for (const auto& node : worker.nodes()) {
      const auto split = node.is(kParameter) ? parts.find(node.name) : parts.end();
      if (split == parts.end()) {
        rewrite.copy(node);
        continue;
      }
      std::ranges::sort(split->second, {}, [](const auto& part) { return part.part_of->rows; });
      std::vector<Value> values;
      for (const auto& part : split->second) {
        auto source = node;
        source.name = part.name;
        values.push_back(rewrite.builder().copy_source(source, part.info));
      }
      rewrite.map(node.outputs[0], concat(values, 0));
    }
    return std::move(rewrite).finish();
  }

  const TrainingSpec& spec_;
  const GradientHook* hook_;
  const bool decides_together_;
  const double bound_;  // largest magnitude of a worker
  Graph forward_;
  std::vector<LookedUpParameter> looked_up_;
  std::vector<PlacedParameter> placed_;
  Value magnitude_;                         // see magnitude_of()
  Value failed_;                            // with a hook: 1 if the magnitude is not finite, else 0
  std::vector<std::vector<Value>> blocks_;  // by group, the gradients or the hook's encoding of them
  SplitTraining split_;
};

}  // namespace

std::vector<std::int64_t> ParameterGroup::parameter_offsets() const {
  std::vector<TensorInfo> infos;
  for (const auto& parameter : parameters) infos.push_back(parameter.info);
  return pack_offsets(infos);
}

std::size_t SplitTraining::shards() const {
  auto shards = groups.size();
  for (const auto& rows : looked_up) shards += rows.parts.size();
  return shards;
}

SplitTraining split_training(const TrainingSpec& spec, const std::vector<Field>& fields, const PlaceParameters& place,
                             const SplitOptions& options) {
  return Splitter(spec, fields, options).run(place);
}

}  // namespace troupe
