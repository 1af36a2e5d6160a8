#include "troupe/ops/nn/optimizer.hpp"

#include <map>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/compare.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/math.hpp"

namespace troupe {

namespace {

const TensorInfo kScalar{Shape{}, DType::float32};

/// The shape rule of global_norm_factor. Inputs: any number of float32 gradients. Attribute: limit. Output: a float32
/// scalar, limit / norm if the global norm of the gradients exceeds the limit, else 1.
std::vector<TensorInfo> infer_norm_factor(const OpInputs& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs.expect_dtype(i, DType::float32);
  return {kScalar};
}

/// The shape rule of assign. Inputs: a state, its new value, and optionally a flag, a float32 scalar. Output: the
/// state, which the op overwrites with the new value if the flag is absent or above 0.
std::vector<TensorInfo> infer_assign(const OpInputs& inputs) {
  inputs.expect_count(2, 3);
  if (!(inputs[0] == inputs[1])) inputs.refuse("state and value must have the same shape and dtype");
  if (inputs.size() == 3) inputs.expect_info(2, kScalar, "the flag");
  return {inputs[0]};
}

/// The shape rule of accumulation. Inputs: the batch info, and the accumulated rows, a float32 scalar. Attribute:
/// steps, the number of steps of an update. Outputs: the batch info with the number of the update in place of the
/// number of the step; a float32 scalar that is 1 in the last step of an update unless the accumulated rows are 0, and
/// 0 in all other steps.
std::vector<TensorInfo> infer_accumulation(const OpInputs& inputs) {
  inputs.expect_count(2, 2);
  inputs.expect_batch_info(0);
  inputs.expect_info(1, kScalar, "the accumulated rows");
  if (inputs.attributes.integer("steps") < 1) inputs.refuse("needs at least one step");
  return {inputs[0], kScalar};
}

/// The shape rule of accumulate. Inputs: a sum; its rows and its end, float32 scalars; a gradient; the batch info; the
/// weight of the batch, a float32 scalar, if the attribute `weighted` is set; and optionally a flag, a float32 scalar.
/// Attributes: steps, the number of steps of an update, and weighted. Outputs: the sum, its rows and its end, which the
/// op overwrites. The end is end_of_update() of the steps in the sum. The first step of an update clears sum and rows,
/// and so does a step whose update has another end. If the flag is absent or above 0, the gradient times the rows of
/// the whole batch is added to the sum, and these rows to its rows. The last step divides the sum by its rows, so that
/// it becomes the mean gradient of all rows. With `weighted` the weight of the batch takes the place of its rows; the
/// gradient of a batch of weight 0 is added without a factor, because its loss divides by 1.
std::vector<TensorInfo> infer_accumulate(const OpInputs& inputs) {
  const std::size_t flag = inputs.attributes.has("weighted") ? 6 : 5;
  inputs.expect_count(flag, flag + 1);
  if (!(inputs[0] == inputs[3])) inputs.refuse("sum and gradient must have the same shape and dtype");
  inputs.expect_info(1, kScalar, "the accumulated rows");
  inputs.expect_info(2, kScalar, "the end of the sum");
  inputs.expect_batch_info(4);
  for (std::size_t i = 5; i < inputs.size(); ++i) inputs.expect_info(i, kScalar, "the weight or flag");
  if (inputs.attributes.integer("steps") < 1) inputs.refuse("needs at least one step");
  return {inputs[0], kScalar, kScalar};
}

/// The shape rule of average. Inputs: the average; a float32 scalar that is 0 until the first step; the parameter after
/// the step; the average before the step, or, in the first step, the parameter before the step; and optionally a flag,
/// a float32 scalar. Attribute: decay. Outputs: the average and the first scalar, which becomes 1. The op overwrites
/// the average if the flag is absent or above 0, and in the first step.
std::vector<TensorInfo> infer_average(const OpInputs& inputs) {
  inputs.expect_count(4, 5);
  for (const std::size_t i : {2, 3})
    if (!(inputs[0] == inputs[i])) inputs.refuse("average and parameter must have the same shape and dtype");
  inputs.expect_info(1, kScalar, "the mark that it has begun");
  if (inputs.size() == 5) inputs.expect_info(4, kScalar, "the flag");
  return {inputs[0], kScalar};
}

std::string name_of(Value parameter) {
  return parameter.builder().graph().producer(parameter.id()).name;
}

std::vector<Value> with_flag(std::vector<Value> inputs, Value flag) {
  if (flag.valid()) inputs.push_back(flag);
  return inputs;
}

/// Adds a state of a parameter that has this shape.
Value state_of(Value parameter, const std::string& state, Shape shape) {
  return parameter.builder().state(name_of(parameter) + "/" + state, std::move(shape), Initializer::zeros());
}

/// The values of parameters after a step: for each parameter that an update overwrites, the result of the update.
std::map<ValueId, ValueId> values_after_step(const Graph& graph) {
  std::map<ValueId, ValueId> after;
  for (const auto& node : graph.nodes())
    for (std::size_t i = 0; node.op->kind == OpKind::update && i < node.outputs.size(); ++i)
      after[node.inputs[i]] = node.outputs[i];
  return after;
}

/// The values of the averages, and the marks that they have begun; see infer_average().
struct Averages {
  std::vector<Value> states, begun, before;
};

/// Adds the states of the averages of the parameters. Must be called before the updates are added.
Averages averages_before_step(std::span<const Value> parameters) {
  Averages averages;
  for (const auto& parameter : parameters) {
    auto& builder = parameter.builder();
    averages.states.push_back(state_of(parameter, "average", parameter.shape()));
    averages.begun.push_back(state_of(parameter, "average_begun", {}));
    const auto is_first = equal(averages.begun.back(), builder.constant(Tensor::scalar(0.0F)));
    averages.before.push_back(where(is_first, parameter, averages.states.back()));
  }
  return averages;
}

/// Adds the updates of the averages. Must be called after the updates of the parameters have been added.
void update_averages(const Averages& averages, std::span<const Value> parameters, double decay, Value apply_if) {
  if (parameters.empty()) return;
  auto& builder = parameters.front().builder();
  const auto after = values_after_step(builder.graph());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto updated = after.find(parameters[i].id());
    const auto value = updated != after.end() ? builder.value(updated->second) : parameters[i];
    builder.apply(kAverage, with_flag({averages.states[i], averages.begun[i], value, averages.before[i]}, apply_if),
                  {{"decay", decay}});
  }
}

}  // namespace

const OpDef kGlobalNormFactor{.name = "global_norm_factor", .infer = infer_norm_factor, .accepts_empty = true};
const OpDef kAssign{.name = "assign", .kind = OpKind::update, .infer = infer_assign};
const OpDef kAccumulation{.name = "accumulation", .infer = infer_accumulation};
const OpDef kAccumulate{.name = "accumulate", .kind = OpKind::update, .infer = infer_accumulate};
const OpDef kAverage{.name = "average", .kind = OpKind::update, .infer = infer_average};

Optimizer Optimizer::with_group(ParameterFilter group, const Optimizer& optimizer) const {
  if (optimizer.accumulated_ != 1 || optimizer.averaging_)
    throw Error("optimizer", "accumulation and averages belong to the whole optimizer, not to a group");
  auto changed = *this;
  changed.groups_.push_back({std::move(group), {optimizer}});
  return changed;
}

Optimizer Optimizer::frozen(ParameterFilter group) const {
  auto changed = *this;
  changed.groups_.push_back({std::move(group), {}});
  return changed;
}

Optimizer Optimizer::accumulating(std::int64_t steps) const {
  if (steps < 1) throw Error("optimizer", "needs at least one step for an update, not " + std::to_string(steps));
  auto changed = *this;
  changed.accumulated_ = steps;
  return changed;
}

Optimizer Optimizer::of_trainer(const std::string& name) const {
  auto changed = *this;
  changed.trainer_ = name;
  return changed;
}

Optimizer Optimizer::averaging(double decay) const {
  if (!(decay >= 0.0 && decay < 1.0)) throw Error("optimizer", "the decay of the average must be in [0, 1)");
  auto changed = *this;
  changed.averaging_ = decay;
  return changed;
}

Optimizer Optimizer::renamed(const std::function<std::string(const std::string&)>& original) const {
  auto changed = *this;
  for (auto& group : changed.groups_) {
    group.has = [has = group.has, original](const std::string& name) { return has(original(name)); };
    for (auto& optimizer : group.optimizer) optimizer = optimizer.renamed(original);
  }
  return changed;
}

const Optimizer::Group* Optimizer::group_of(const std::string& name) const {
  for (const auto& group : groups_)
    if (group.has(name)) return &group;
  return nullptr;
}

void Optimizer::expect_members(std::span<const std::string> parameters) const {
  expect_members_within("", parameters);
}

/// `outer` names the groups whose optimizer this is, such as " of group 2": empty for an optimizer of no group.
void Optimizer::expect_members_within(const std::string& outer, std::span<const std::string> parameters) const {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const auto& group = groups_[i];
    const auto group_name = "group " + std::to_string(i + 1) + outer;
    const bool is_frozen = group.optimizer.empty();
    std::vector<std::string> accepted, members;
    for (const auto& name : parameters) {
      if (!group.has(name)) continue;
      accepted.push_back(name);
      if (group_of(name) == &group || (is_frozen && !trains(name))) members.push_back(name);
    }
    if (!members.empty()) {
      if (!is_frozen) group.optimizer[0].expect_members_within(" of " + group_name, members);
      continue;
    }
    const auto number =
        "the filter of " + group_name + ", given to " + (is_frozen ? "frozen()" : "with_group()") + ", accepts ";
    if (!accepted.empty())
      throw Error("optimizer", number + "only parameters of groups that were added before, such as '" + accepted[0] +
                                   "'; add it before them");
    std::string names;
    for (const auto& name : parameters) names += (names.empty() ? "'" : ", '") + name + "'";
    throw Error("optimizer", number + "none of the parameters " + names);
  }
}

bool Optimizer::trains(const std::string& name) const {
  const auto* group = group_of(name);
  return group == nullptr || (!group->optimizer.empty() && group->optimizer[0].trains(name));
}

void Optimizer::apply(std::span<const Value> parameters, std::span<const Value> gradients, Value batch_info,
                      Value apply_if, Value batch_weight) const {
  auto& builder = batch_info.builder();
  GraphBuilder::Scope scope(builder, "optimizer");
  if (accumulated_ == 1) return update_and_average(parameters, gradients, batch_info, apply_if);
  const Attributes attributes{{"steps", accumulated_}};
  const auto suffix = trainer_.empty() ? "" : "@" + trainer_;
  std::vector<Value> means;
  Value rows;  // the same number for all parameters
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& parameter = parameters[i];
    std::vector<Value> inputs{state_of(parameter, "accumulated" + suffix, parameter.shape()),
                              state_of(parameter, "accumulated_rows" + suffix, {}),
                              state_of(parameter, "accumulated_end" + suffix, {}), gradients[i], batch_info};
    if (batch_weight.valid()) inputs.push_back(batch_weight);
    const auto accumulated = builder.apply(kAccumulate, with_flag(std::move(inputs), apply_if),
                                           batch_weight.valid() ? attributes.with("weighted", true) : attributes);
    means.push_back(accumulated[0]);
    rows = accumulated[1];
  }
  const auto update = builder.apply(kAccumulation, {batch_info, rows}, attributes);
  update_and_average(parameters, means, update[0], update[1]);
}

void Optimizer::update_and_average(std::span<const Value> parameters, std::span<const Value> gradients,
                                   Value batch_info, Value apply_if) const {
  if (!averaging_) return update_all(parameters, gradients, batch_info, apply_if);
  const auto averages = averages_before_step(parameters);
  update_all(parameters, gradients, batch_info, apply_if);
  update_averages(averages, parameters, *averaging_, apply_if);
}

void Optimizer::update_all(std::span<const Value> parameters, std::span<const Value> gradients, Value batch_info,
                           Value apply_if) const {
  // Returns the parameters of `group` and their gradients; for null the parameters that no group accepts, and their
  // gradients.
  const auto members = [&](const Group* group) {
    std::pair<std::vector<Value>, std::vector<Value>> selected;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (group_of(name_of(parameters[i])) != group) continue;
      selected.first.push_back(parameters[i]);
      selected.second.push_back(gradients[i]);
    }
    return selected;
  };
  for (const auto& group : groups_) {
    if (group.optimizer.empty()) continue;
    const auto [of_group, gradients_of_group] = members(&group);
    group.optimizer[0].update_all(of_group, gradients_of_group, batch_info, apply_if);
  }
  auto [ungrouped, ungrouped_gradients] = members(nullptr);
  if (ungrouped.empty()) return;
  const auto rate = schedule_.apply(batch_info);
  if (clip_value_) {
    if (!(*clip_value_ > 0.0)) throw Error("optimizer", "the value to clip at must be above 0");
    for (auto& gradient : ungrouped_gradients) gradient = clip(gradient, -*clip_value_, *clip_value_);
  }
  Value factor;
  if (clip_norm_) {
    if (!(*clip_norm_ > 0.0)) throw Error("optimizer", "the norm to clip at must be above 0");
    factor = batch_info.builder().apply(kGlobalNormFactor, ungrouped_gradients, {{"limit", *clip_norm_}})[0];
  }
  for (std::size_t i = 0; i < ungrouped.size(); ++i)
    update_({ungrouped[i], ungrouped_gradients[i], rate, batch_info, factor, apply_if});
}

}  // namespace troupe
