#include "troupe/strategies/training/split_training.hpp"

#include <algorithm>

#include "troupe/actors/shard/shard_update.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/graph/passes.hpp"
#include "troupe/ops/reshape.hpp"
#include "troupe/strategies/training/replica_gradients.hpp"

namespace troupe {

namespace {

std::vector<TensorInfo> infos_of(const std::vector<TrainedParameter>& parameters, bool with_verdict) {
  std::vector<TensorInfo> infos;
  if (with_verdict) infos.push_back({Shape{}, DType::float32});
  for (const auto& parameter : parameters) infos.push_back(parameter.info);
  return infos;
}

std::vector<TrainedParameter> described(const std::vector<Value>& parameters) {
  std::vector<TrainedParameter> described;
  for (const auto& parameter : parameters) {
    const auto& node = parameter.builder().graph().producer(parameter.id());
    described.push_back({node.name, parameter.info(), node.initializer});
  }
  return described;
}

void expect_each_once(const std::vector<std::vector<std::size_t>>& groups, std::size_t parameters) {
  std::vector<int> times(parameters);
  for (const auto& group : groups) {
    if (group.empty()) throw Error("strategy", "a group of parameters is empty");
    for (const auto i : group) ++times.at(i);
  }
  if (std::ranges::any_of(times, [](int n) { return n != 1; }))
    throw Error("strategy", "every parameter belongs to exactly one group");
}

}  // namespace

namespace names {

std::string gradients_of(std::size_t group) {
  return "gradients/" + std::to_string(group);
}

}  // namespace names

std::vector<std::int64_t> ParameterGroup::parameter_offsets() const {
  return pack_offsets(infos_of(parameters, false));
}

Graph update_graph(const Optimizer& optimizer, std::uint64_t seed, const std::vector<TrainedParameter>& parameters,
                   const std::string& suffix) {
  GraphBuilder builder({.training = true, .seed = seed});
  const auto offsets = pack_offsets(infos_of(parameters, true));
  const auto block = builder.input(ShardUpdate::kGradients, Shape{offsets.back()});
  std::vector<Value> targets, gradients;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& [name, info, initializer] = parameters[i];
    const Node node{.op = &kParameter, .name = name + suffix, .initializer = initializer, .trainable = true};
    targets.push_back(builder.copy_source(node, info));
    gradients.push_back(view_at(block, offsets[i + 1], info.shape));
  }
  optimizer.apply(targets, gradients, builder.batch_info(), all_agree(view_at(block, 0, {})));
  return eliminate_dead_code(std::move(builder).build());
}

SplitTraining split_training(const TrainingSpec& spec, const std::vector<Field>& fields, const GroupParameters& group) {
  GraphBuilder builder(forward_graph(spec, fields, Purpose::training));
  const auto made = add_gradients(builder, spec.optimizer);
  const auto parameters = described(made.parameters);
  const auto groups = group(parameters);
  expect_each_once(groups, parameters.size());
  SplitTraining split;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::vector<Value> block{made.verdict};
    auto& of_group = split.groups.emplace_back();
    for (const auto i : groups[g]) {
      block.push_back(made.gradients[i]);
      of_group.parameters.push_back(parameters[i]);
    }
    builder.output(names::gradients_of(g), pack(block));
  }
  split.worker = eliminate_dead_code(std::move(builder).build());
  for (auto& of_group : split.groups) of_group.update = update_graph(spec.optimizer, spec.seed, of_group.parameters);
  return split;
}

}  // namespace troupe
