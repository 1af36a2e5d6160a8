#include "troupe/strategies/sharded_strategy.hpp"

#include <algorithm>
#include <set>

#include "troupe/actors/plan/lower.hpp"
#include "troupe/actors/shard/batch_dispatcher.hpp"
#include "troupe/actors/shard/shard.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/graph/passes.hpp"
#include "troupe/strategies/training/split_training.hpp"

namespace troupe {

namespace {

/// Where the batches come from.
constexpr Place kChief{0, {DeviceType::cpu, 0}};

/// As many groups as there are servers, each parameter with the one that has the fewest elements so far.
std::vector<std::vector<std::size_t>> balanced(std::span<const TrainedParameter> parameters, std::size_t servers) {
  std::vector<std::vector<std::size_t>> groups(std::min(servers, parameters.size()));
  std::vector<std::int64_t> elements(groups.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto least = static_cast<std::size_t>(std::ranges::min_element(elements) - elements.begin());
    groups[least].push_back(i);
    elements[least] += parameters[i].info.shape.elements();
  }
  return groups;
}

bool has(const ParameterGroup& group, const std::string& name) {
  return std::ranges::find(group.parameters, name, &TrainedParameter::name) != group.parameters.end();
}

}  // namespace

ShardedStrategy::ShardedStrategy(const char* name, std::vector<Place> workers, std::vector<Place> servers,
                                 const ConsistencyRule& rule)
    : Strategy(std::move(workers)), name_(name), servers_(std::move(servers)), rule_(rule) {
  if (servers_.empty()) throw Error(name, "needs at least one server");
  rule_.check();
  if (rule_.workers != num_replicas_in_sync())
    throw Error(name, "the rule is for " + std::to_string(rule_.workers) + " workers, but there are " +
                          std::to_string(num_replicas_in_sync()));
}

SplitTraining ShardedStrategy::split(const PlanRequest& request) const {
  auto split = split_training(request.spec, request.data.fields(),
                              [&](auto parameters) { return balanced(parameters, servers_.size()); });
  split.worker = without_all_reduce(split.worker);
  return split;
}

/// Those of the model first and in its order: start values and hashes follow from the order.
void ShardedStrategy::add_parameters(Plan& plan, const SplitTraining& split) const {
  const auto add = [&](const Graph& graph, ValueId id, std::size_t group) {
    const auto& node = graph.producer(id);
    plan.add_parameter({{node.name, 0}, graph.info(id), servers_[group].device, node.initializer, node.trainable});
  };
  for (const auto id : split.worker.sources(kParameter))
    for (std::size_t g = 0; g < split.groups.size(); ++g)
      if (has(split.groups[g], split.worker.producer(id).name)) add(split.worker, id, g);
  for (std::size_t g = 0; g < split.groups.size(); ++g)
    for (const auto id : split.groups[g].update.sources(kParameter)) add(split.groups[g].update, id, g);
}

std::vector<ActorId> ShardedStrategy::add_shards(Plan& plan, const SplitTraining& split, bool local_steps) const {
  // Of some of the workers' gradients all shards must apply the same ones: those that the first one does.
  const bool led = rule_.late == LateGradients::dropped;
  const auto groups = static_cast<int>(split.groups.size());
  std::vector<ActorId> shards;
  for (int g = 0; g < groups; ++g) {
    const auto& group = split.groups[static_cast<std::size_t>(g)];
    ShardOptions options{
        .rule = rule_, .update = group.update, .shared_steps = shares_steps(), .local_steps = local_steps};
    options.follows = led && g > 0;
    for (const auto& parameter : group.parameters) options.parameters.push_back(parameter.name);
    shards.push_back(add_shard(plan, "shard@" + std::to_string(g), servers_[static_cast<std::size_t>(g)], options,
                               led && g == 0 ? groups - 1 : 0));
  }
  return shards;
}

void ShardedStrategy::connect_followers(Plan& plan, const std::vector<ActorId>& shards, int workers) {
  const auto outputs = static_cast<std::int32_t>(plan.actor(shards.front()).outputs.size());
  for (auto output = workers; output < outputs; ++output)
    plan.connect(shards.front(), output, shards[static_cast<std::size_t>(output - workers) + 1]);
}

std::set<int> ShardedStrategy::expendable() const {
  if (shares_steps()) return {};
  std::set<int> processes;
  for (const auto& place : places()) processes.insert(place.process);
  for (const auto& place : servers_) processes.erase(place.process);
  for (const auto& place : forward_places_) processes.erase(place.process);
  processes.erase(kChief.process);
  return processes;
}

std::vector<Place> ShardedStrategy::forward_places() const {
  if (!forward_places_.empty()) return forward_places_;
  const auto lost = expendable();
  auto safe = places();
  std::erase_if(safe, [&](const Place& place) { return lost.contains(place.process); });
  return safe.empty() ? std::vector{kChief} : safe;
}

Plan ShardedStrategy::empty_plan(const PlanRequest& request) const {
  if (request.batches != nullptr)
    throw Error(name_, "needs a data set: its workers are told the numbers of the samples that they load");
  if (!request.data.layout().whole()) throw Error(name_, "every process needs all samples, not a shard of them");
  auto plan = Strategy::empty_plan(request);
  const auto processes = expendable();
  plan.expendable.assign(processes.begin(), processes.end());
  return plan;
}

ActorId ShardedStrategy::add_batches(Plan& plan, const PlanRequest& request) const {
  // Where updates are made of some of the workers' gradients, the last ones come only when it is known that no batch
  // follows.
  const auto to_free = rule_.late == LateGradients::dropped ? Dispatch::who_is_free : Dispatch::until_used;
  return add_dispatcher(plan, request.source, request.data, request.seed, workers(),
                        shares_steps() ? Dispatch::parts : to_free, kChief);
}

std::vector<OutputRef> ShardedStrategy::add_worker(Plan& plan, const PlanRequest& request, const SplitTraining& split,
                                                   ActorId batches, const std::vector<OutputRef>& parameters,
                                                   int worker) const {
  const auto& place = places()[static_cast<std::size_t>(worker)];
  const auto fields = fields_read(split.worker);
  const OutputRef batch_info{batches, 2 * worker + 1};
  const auto loader = add_gatherer(plan, request.source, request.data, fields, batches, worker, host_side(place));
  LowerOptions options{.place = place, .replica = worker};
  for (std::size_t i = 0; i < fields.size(); ++i) options.inputs[fields[i]] = {loader, static_cast<std::int32_t>(i)};
  if (split.worker.sources(kInput).size() > fields.size()) options.inputs[names::kBatchInfo] = batch_info;
  for (std::size_t g = 0; g < split.groups.size(); ++g) {
    const auto offsets = split.groups[g].parameter_offsets();
    for (std::size_t i = 0; i < split.groups[g].parameters.size(); ++i) {
      auto view = parameters[g];
      view.view = split.groups[g].parameters[i].info;
      view.byte_offset = static_cast<std::size_t>(offsets[i]) * sizeof(float);
      options.parameters[split.groups[g].parameters[i].name] = view;
    }
  }
  const auto outputs = lower(plan, split.worker, options);
  add_sink(plan, request, outputs, batch_info, worker);
  std::vector<OutputRef> gradients;
  for (std::size_t g = 0; g < split.groups.size(); ++g) gradients.push_back(outputs.at(names::gradients_of(g)));
  return gradients;
}

}  // namespace troupe
