#include "troupe/strategies/step/training_graph.hpp"

#include <algorithm>
#include <numeric>

#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/float_mode.hpp"
#include "troupe/ops/core/name.hpp"
#include "troupe/ops/fused/finite.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/math.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/nn/targets.hpp"
#include "troupe/ops/passes/gradient.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/strategies/step/rows_apart.hpp"
#include "troupe/strategies/step/step_decision.hpp"

namespace troupe {

namespace {

Outputs apply_model(const TrainingSpec& spec, const Inputs& inputs) {
  auto outputs = spec.model(inputs);
  for (const auto& [name, value] : outputs.entries()) inputs.builder().output(names::model_output(name), value);
  return outputs;
}

std::vector<LossMean> means_of_loss(const TrainingSpec& spec, const Outputs& outputs, const Inputs& inputs) {
  auto means = spec.loss.means(outputs, inputs);
  if (means.empty()) throw Error("loss", "it has no means");
  for (const auto& [losses, weights] : means)
    for (const auto& value : {losses, weights.valid() ? weights : losses})
      if (!(value.info() == TensorInfo{Shape{kBatch}, DType::float32}))
        throw Error("loss", "it must be float32[B], one number per row, not " + to_string(value.info()));
  return means;
}

bool accumulates_weighted_loss(const TrainingSpec& spec, const std::vector<LossMean>& means) {
  const bool weighted = std::ranges::any_of(means, [](const auto& mean) { return mean.weights.valid(); });
  return weighted && spec.optimizer.accumulated_steps() > 1;
}

/// Throws Error if the optimizer accumulates gradients of a sum of means that divide by different numbers: no weight of
/// a batch would make the sum of several batches right.
void expect_one_divisor(const TrainingSpec& spec, const std::vector<LossMean>& means) {
  if (means.size() > 1 && accumulates_weighted_loss(spec, means))
    throw Error("loss",
                "is a sum of losses that divide by different weights, but the optimizer accumulates the gradients of "
                "several batches; divide by rows (MeanOver::rows), or do not accumulate");
}

/// Returns the share of this replica in the loss of the batch: the sum of its losses divided by the sum of the weights
/// of all replicas, for every mean. The sum of the weights of the first mean and the check of all sums become outputs.
Value share_of_weighted_loss(const TrainingSpec& spec, const std::vector<LossMean>& means, GraphBuilder& builder) {
  std::vector<Value> weights;
  for (const auto& mean : means)
    if (mean.weights.valid()) weights.push_back(sum_of_all(mean.weights));
  const auto totals = unpacked(all_reduce(pack(weights)), weights);
  builder.output(names::kBatchWeight, totals.front());
  if (spec.check_finite) builder.output(names::kWeightCheck, check_of_weights(totals, spec.optimizer));
  Value share;
  std::size_t weighted = 0;
  for (const auto& mean : means) {
    Value of_mean;
    if (mean.weights.valid()) {
      of_mean = div(sum_of_all(mean.losses), divisor_of(totals[weighted++]));
    } else {
      of_mean = batch_mean(mean.losses, builder.batch_info());
    }
    share = share.valid() ? add(share, of_mean) : of_mean;
  }
  return share;
}

/// Adds the loss, and the sums from which it is computed for several batches if a mean divides by weights. An
/// evaluation graph, which has no collectives, divides by rows: its loss only tells whether all losses are finite.
void add_loss(const TrainingSpec& spec, const std::vector<LossMean>& means, GraphBuilder& builder, Purpose purpose) {
  if (means.size() == 1 && !means[0].weights.valid())
    return builder.output(names::kLoss, batch_mean(means[0].losses, builder.batch_info()));
  auto all = means[0].losses;
  for (std::size_t i = 0; i < means.size(); ++i) {
    if (i > 0) all = add(all, means[i].losses);
    builder.output(names::loss_sum(i), sum_of_all(means[i].losses));
    if (means[i].weights.valid()) builder.output(names::loss_weight(i), sum_of_all(means[i].weights));
  }
  builder.output(names::kLoss, purpose == Purpose::training ? share_of_weighted_loss(spec, means, builder)
                                                            : batch_mean(all, builder.batch_info()));
}

void add_metric(GraphBuilder& builder, const Metric& metric, const Outputs& outputs, const Inputs& inputs) {
  expect_name("metric", "a metric", metric.name);
  const auto sums = metric.sums(outputs, inputs);
  for (const auto& value : {sums.sum, sums.count}) {
    if (!value.valid()) continue;
    const bool right_shape = value.id() == sums.sum.id() ? !value.shape().has_batch() : value.shape().rank() == 0;
    if (!right_shape || (value.dtype() != DType::float32 && value.dtype() != DType::int64))
      throw Error("metric", "'" + metric.name +
                                "' must be a float32 or int64 sum over the batch and a scalar count, not " +
                                to_string(value.info()));
  }
  builder.output(names::metric_sum(metric.name), sums.sum);
  if (sums.count.valid()) builder.output(names::metric_count(metric.name), sums.count);
}

std::vector<std::string> names_of_parameters(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto id : graph.sources(kParameter)) names.push_back(graph.producer(id).name);
  return names;
}

/// Returns the indices of the gradients, sorted by the order in which the backward pass makes them.
std::vector<std::size_t> order_made(std::span<const Value> gradient_of) {
  std::vector<std::size_t> order(gradient_of.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](auto i) { return gradient_of[i].id(); });
  return order;
}

/// Returns 0 if the loss is finite, else a NaN. Always returns 0 if `check_finite` is false.
Value check_of(Value loss, bool check_finite) {
  GraphBuilder::Scope scope(loss.builder(), "loss_check");
  const auto check = scale(loss, 0.0);
  return check_finite ? check : at_least(check, 1.0);
}

/// Throws Error unless `magnitude` depends on all gradients: it decides whether they are finite.
void expect_all_checked(const Graph& graph, Value magnitude, std::span<const Value> gradient_of) {
  const auto checked = dependencies_of(graph, magnitude.id());
  for (const auto& gradient : gradient_of)
    if (!checked[gradient.id()])
      throw Error("strategy", "the magnitude by which it decides must depend on all gradients");
}

/// Throws Error unless `reduced` has as many gradients as the replica and, if `check_finite`, the magnitudes of all of
/// them.
void expect_reduced(const Graph& graph, const ReducedGradients& reduced, std::span<const Value> gradient_of,
                    bool check_finite) {
  if (reduced.gradients.size() != gradient_of.size())
    throw Error("strategy", "reduces " + std::to_string(gradient_of.size()) + " gradients to " +
                                std::to_string(reduced.gradients.size()) + ", not to as many");
  if (!reduced.magnitude.valid()) throw Error("strategy", "returns no magnitude for its decision");
  if (!check_finite) return;
  expect_all_checked(graph, reduced.magnitude, gradient_of);
  if (reduced.own_magnitude.valid()) expect_all_checked(graph, reduced.own_magnitude, gradient_of);
}

void assign_next_values(GraphBuilder& builder, Value apply_if) {
  std::vector<std::pair<Value, Value>> assigned;
  for (auto id : builder.graph().sources(kParameter)) {
    const auto next = GraphBuilder::name_of_next(builder.graph().producer(id).name);
    if (builder.graph().has_output(next))
      assigned.emplace_back(builder.value(id), builder.value(builder.graph().output(next)));
  }
  GraphBuilder::Scope scope(builder, "buffers");
  for (const auto& [buffer, next] : assigned) builder.apply_one(kAssign, {buffer, next, apply_if});
}

}  // namespace

Graph forward_graph(const TrainingSpec& spec, const std::vector<Field>& fields, Purpose purpose,
                    std::int64_t replicas) {
  const DefaultFloatMode mode;
  GraphBuilder builder({.training = purpose == Purpose::training,
                        .seed = spec.seed,
                        .replicas = replicas,
                        .trains = [&](const std::string& name) { return spec.optimizer.trains(name); }});
  const Inputs inputs(builder, fields);
  const auto outputs = apply_model(spec, inputs);
  GraphBuilder::Scope scope(builder, "loss");
  const auto means = means_of_loss(spec, outputs, inputs);
  if (purpose == Purpose::training) expect_one_divisor(spec, means);
  add_loss(spec, means, builder, purpose);
  for (const auto& metric : spec.used_metrics()) add_metric(builder, metric, outputs, inputs);
  if (purpose == Purpose::training) spec.optimizer.expect_members(names_of_parameters(builder.graph()));
  auto graph = without_unread_inputs(optimize_forward(std::move(builder).build()));
  if (replicas > 1) expect_rows_apart(graph);
  return graph;
}

Graph model_graph(const TrainingSpec& spec, const std::vector<Field>& fields, Purpose purpose) {
  const DefaultFloatMode mode;
  GraphBuilder builder({.training = purpose == Purpose::training});
  apply_model(spec, Inputs(builder, fields));
  return without_unread_inputs(optimize_forward(std::move(builder).build()));
}

Graph prediction_graph(const TrainingSpec& spec, const std::vector<Field>& fields) {
  return model_graph(spec, fields, Purpose::evaluation);
}

ReduceGradients unreduced(const TrainingSpec& spec) {
  return [bound = bound_of_magnitude(spec.optimizer, 1.0)](Value loss_check, std::span<const Value> gradients) {
    const auto magnitude = magnitude_of(loss_check, gradients, bound);
    return ReducedGradients{magnitude, magnitude, {gradients.begin(), gradients.end()}};
  };
}

std::vector<std::string> fields_read(const Graph& graph) {
  std::vector<std::string> fields;
  for (auto id : graph.sources(kInput))
    if (graph.producer(id).name != names::kBatchInfo) fields.push_back(graph.producer(id).name);
  return fields;
}

std::vector<ValueId> trained_parameters(const Graph& graph, const Optimizer& optimizer) {
  auto trained = graph.sources(kParameter);
  const auto read_by_loss = dependencies_of(graph, graph.output(names::kLoss));
  std::erase_if(trained, [&](ValueId id) {
    const auto& node = graph.producer(id);
    return !node.trainable || !optimizer.trains(node.name) || !read_by_loss[id];
  });
  return trained;
}

ReplicaGradients add_gradients(GraphBuilder& forward, const TrainingSpec& spec, std::span<const Value> further,
                               Value loss) {
  std::vector<Value> parameters;
  for (const auto id : trained_parameters(forward.graph(), spec.optimizer)) parameters.push_back(forward.value(id));
  if (parameters.empty() && further.empty()) throw Error("trainer", "the model has no parameters to train");
  const bool is_own_loss = !loss.valid();
  if (is_own_loss) loss = forward.value(forward.graph().output(names::kLoss));
  ReplicaGradients replica;
  replica.loss_check = check_of(loss, spec.check_finite);
  if (is_own_loss && forward.graph().has_output(names::kWeightCheck))
    replica.loss_check = add(replica.loss_check, forward.value(forward.graph().output(names::kWeightCheck)));
  auto all = parameters;
  all.insert(all.end(), further.begin(), further.end());
  const auto gradient_of = gradients(loss, all);
  for (auto i : order_made(std::span(gradient_of).first(parameters.size()))) {
    replica.parameters.push_back(parameters[i]);
    replica.gradients.push_back(gradient_of[i]);
  }
  replica.further.assign(gradient_of.begin() + static_cast<std::ptrdiff_t>(parameters.size()), gradient_of.end());
  return replica;
}

Graph training_graph(const TrainingSpec& spec, const std::vector<Field>& fields, const ReduceGradients& reduce,
                     std::int64_t replicas, const GradientHook::NextStates* states) {
  GraphBuilder builder(forward_graph(spec, fields, Purpose::training, replicas));
  const auto replica = add_gradients(builder, spec);
  const auto reduced = reduce(replica.loss_check, replica.gradients);
  expect_reduced(builder.graph(), reduced, replica.gradients, spec.check_finite);
  auto apply_if = builder.constant(Tensor::scalar(1.0F));
  // Buffers and the states of a hook do not depend on the loss. They wait for the magnitude, because a step that fails
  // on any replica must not change them. An update waits for its gradient.
  auto apply_states_if = control_dependency(apply_if, reduced.magnitude);
  if (spec.check_finite) apply_if = apply_states_if = step_is_finite(reduced.magnitude);
  Value batch_weight;
  if (builder.graph().has_output(names::kBatchWeight))
    batch_weight = builder.value(builder.graph().output(names::kBatchWeight));
  spec.optimizer.apply(replica.parameters, reduced.gradients, builder.batch_info(), apply_if, batch_weight);
  if (states != nullptr) set_states(*states, apply_states_if);
  assign_next_values(builder, apply_states_if);
  // The decision is 1 if the step is applied, else 1 / sqrt(0), which is infinite.
  const auto own_magnitude = spec.check_finite ? reduced.own_magnitude : replica.loss_check;
  builder.output(names::kMagnitude, own_magnitude.valid() ? own_magnitude : rsqrt(apply_if));
  return eliminate_dead_code(std::move(builder).build());
}

}  // namespace troupe
