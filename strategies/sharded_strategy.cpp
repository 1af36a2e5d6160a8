#include "troupe/strategies/sharded_strategy.hpp"

#include <algorithm>
#include <set>

#include "troupe/actors/load/row_loader.hpp"
#include "troupe/actors/plan/lower.hpp"
#include "troupe/actors/shard/batch_dispatcher.hpp"
#include "troupe/actors/shard/block_shard.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/matmul_precision.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/passes/passes.hpp"
#include "troupe/strategies/step/split_training.hpp"

namespace troupe {

namespace {

/// Where the batches come from.
constexpr Place kChief{0, {DeviceType::cpu, 0}};
constexpr Device kHost{DeviceType::cpu, 0};

/// Gives shards of parameters to servers.
class ShardPlacement {
 public:
  ShardPlacement(Placement placement, std::size_t servers) : placement_(placement), elements_(servers) {}

  std::size_t next(std::int64_t elements) {
    const auto least = static_cast<std::size_t>(std::ranges::min_element(elements_) - elements_.begin());
    const auto server = placement_ == Placement::round_robin ? placed_ % elements_.size() : least;
    ++placed_;
    elements_[server] += elements;
    return server;
  }

 private:
  Placement placement_;
  std::size_t placed_ = 0;
  std::vector<std::int64_t> elements_;
};

void expect_enough_rows(std::int64_t least, std::span<const TrainedParameter> parameters) {
  const auto largest = std::ranges::max_element(parameters, {}, [](const auto& p) { return rows_of(p.info); });
  if (largest != parameters.end() && rows_of(largest->info) < least)
    throw Error("partitioner", std::to_string(least) + " shards are more than any parameter has rows: '" +
                                   largest->name + "' has " + std::to_string(rows_of(largest->info)));
}

std::vector<PlacedParameter> place_all(const Sharding& sharding, std::size_t servers,
                                       std::span<const TrainedParameter> parameters) {
  expect_enough_rows(sharding.partitioner.least_rows, parameters);
  ShardPlacement placement(sharding.placement, servers);
  std::vector<PlacedParameter> placed;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& [name, info, initializer, part_of, row_sparse] = parameters[i];
    const auto shards = sharding.partitioner.shards_of(info);
    if (shards == 1) {
      placed.push_back({i, {}, placement.next(info.shape.elements())});
      continue;
    }
    if (shards < 1 || shards > rows_of(info))
      throw Error("partitioner", "'" + name + "', " + to_string(info) + ", cannot be split into " +
                                     std::to_string(shards) + " shards");
    for (const auto& rows : split_rows(info.shape[0], shards))
      placed.push_back({i, rows, placement.next(rows.count * info.shape.row_elements())});
  }
  return placed;
}

}  // namespace

ShardedStrategy::ShardedStrategy(const char* name, std::vector<Place> workers, std::vector<Place> servers,
                                 const ConsistencyRule& rule)
    : Strategy(std::move(workers)), name_(name), servers_(std::move(servers)), rule_(rule) {
  if (servers_.empty()) throw Error(name, "needs at least one server");
  std::ranges::transform(servers_, servers_.begin(), host_side);
  rule_.check();
  if (rule_.workers != num_replicas_in_sync())
    throw Error(name, "the rule is for " + std::to_string(rule_.workers) + " workers, but there are " +
                          std::to_string(num_replicas_in_sync()));
}

SplitTraining ShardedStrategy::split(const PlanRequest& request, const SplitOptions& options) const {
  const auto place = [&](auto parameters) { return place_all(sharding_, servers_.size(), parameters); };
  auto split = split_training(request.spec, request.data.fields(), place, options);
  split.worker = without_all_reduce(split.worker);
  return split;
}

/// Those of the model first and in its order: start values and hashes follow from the order.
void ShardedStrategy::add_parameters(Plan& plan, const SplitTraining& split) const {
  for (const auto& [name, info, initializer, part_of, row_sparse] : split.parameters)
    plan.add_parameter({{name, 0}, info, kHost, initializer, true});
  const auto add = [&](const Graph& update, std::span<const TrainedParameter> parameters) {
    for (auto& stored : stored_values(update, parameters)) {
      stored.parameter.device = kHost;
      plan.add_parameter(std::move(stored.parameter));
    }
  };
  for (const auto& group : split.groups) add(group.update, group.parameters);
  for (const auto& rows : split.looked_up) add(rows.update, std::span(&rows.chunk, 1));
}

ShardOptions ShardedStrategy::shard_options(bool first) const {
  // Of some of the workers' gradients all shards must apply the same ones: those that the first one does.
  const bool led = rule_.late == LateGradients::dropped;
  return {.rule = rule_, .shared_steps = shares_steps(), .follows = led && !first};
}

std::vector<ActorId> ShardedStrategy::add_shards(Plan& plan, const SplitTraining& split, bool local_steps,
                                                 int others) const {
  const bool led = rule_.late == LateGradients::dropped;
  std::vector<ActorId> shards;
  for (std::size_t g = 0; g < split.groups.size(); ++g) {
    const auto& group = split.groups[g];
    BlockUpdate what{group.update, {}, {}, group.decode, local_steps};
    for (const auto& parameter : group.parameters) what.parameters.push_back(parameter.name);
    for (const auto& stored : stored_values(group.update, group.parameters))
      what.held.push_back({stored.parameter.ref, true, stored.rows});
    const auto followers = static_cast<int>(split.groups.size()) - 1 + others;
    shards.push_back(add_block_shard(plan, "shard@" + std::to_string(g), servers_[group.server], shard_options(g == 0),
                                     what, led && g == 0 ? followers : 0));
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

OutputRef ShardedStrategy::on_their_way(Plan& plan, const OutputRef& gradients, int worker, std::size_t shard) const {
  if (!make_gradient_actor_) return gradients;
  const auto& made = plan.actor(gradients.actor).outputs[static_cast<std::size_t>(gradients.output)].info;
  auto actor = make_gradient_actor_(made, worker);
  if (actor.outputs.size() != 1) throw Error(actor.name, "needs one input and one output, for gradients on their way");
  actor.place = host_side(places()[static_cast<std::size_t>(worker)]);
  actor.replica = worker;
  actor.name += "." + std::to_string(shard);
  const auto added = plan.add(std::move(actor));
  plan.connect(gradients, added);
  return {added, 0};
}

WorkerOutputs ShardedStrategy::add_worker(Plan& plan, const PlanRequest& request, const SplitTraining& split,
                                          ActorId batches, const std::vector<OutputRef>& parameters, int worker,
                                          const std::vector<OutputRef>& rows) const {
  const auto& place = places()[static_cast<std::size_t>(worker)];
  const auto fields = fields_read(split.indices);
  const OutputRef batch_info{batches, 2 * worker + 1};
  // Indices of rows that are looked up are computed on the host.
  const bool on_device = split.looked_up.empty() && kept_on(place.device, request.data, fields);
  const auto loader =
      on_device ? add_row_loader(plan, request.source, request.data, fields, {batches, 2 * worker}, worker, place)
                : add_gatherer(plan, request.source, request.data, fields, batches, worker, host_side(place));
  LowerOptions options{.place = place, .replica = worker};
  for (std::size_t i = 0; i < fields.size(); ++i) options.inputs[fields[i]] = {loader, static_cast<std::int32_t>(i)};
  if (split.indices.sources(kInput).size() > fields.size()) options.inputs[names::kBatchInfo] = batch_info;
  WorkerOutputs made;
  if (!split.looked_up.empty()) {
    // What computes the indices must not wait for the rows.
    plan.actors[static_cast<std::size_t>(loader)].alone = true;
    auto own = options;
    own.place = host_side(place);
    own.prefix = "indices/";
    own.alone = true;
    const auto indices = lower(plan, split.indices, own);
    for (const auto& of : split.looked_up) made.indices.push_back(indices.at(names::indices_of(of.parameter.name)));
  }
  for (std::size_t i = 0; i < split.looked_up.size(); ++i)
    options.inputs[names::rows_of(split.looked_up[i].parameter.name)] = rows.at(i);
  for (std::size_t g = 0; g < split.groups.size(); ++g) {
    const auto offsets = split.groups[g].parameter_offsets();
    for (std::size_t i = 0; i < split.groups[g].parameters.size(); ++i) {
      auto view = parameters[g];
      view.view = split.groups[g].parameters[i].info;
      view.byte_offset = static_cast<std::size_t>(offsets[i]) * sizeof(float);
      options.parameters[split.groups[g].parameters[i].name] = view;
    }
  }
  const auto outputs = lower(
      plan, is_host(place.device) ? split.worker : optimize_for_device(split.worker, dtype_of(matmul_precision())),
      options);
  add_sink(plan, request, outputs, batch_info, worker);
  for (std::size_t g = 0; g < split.groups.size(); ++g) made.gradients.push_back(outputs.at(names::gradients_of(g)));
  for (const auto& of : split.looked_up)
    made.row_gradients.push_back(outputs.at(names::row_gradients_of(of.parameter.name)));
  return made;
}

}  // namespace troupe
