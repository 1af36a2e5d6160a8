#include "troupe/actors/load/loader.hpp"

#include <algorithm>

#include "troupe/actors/task/spawn_context.hpp"
#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

void LoaderTask::begin(const RunInfo& run, std::function<void()>) {
  order_ = orders_.of(run.epoch);
  next_batch_ = run.first_batch;
}

ShardLayout::Share LoaderTask::share_of(std::int64_t batch) const {
  const auto batch_rows = data_.batch_rows();
  if (!data_.layout().whole()) return data_.layout().share(batch, batch_rows);
  const auto first = batch * batch_rows;
  const auto rows = std::min(batch_rows, data_.rows() - first);
  return {first, rows, 0, rows};
}

std::optional<std::int64_t> LoaderTask::next_rows() {
  if (next_batch_ >= data_.batches()) return std::nullopt;
  share_ = share_of(next_batch_++);
  part_ = part_of_batch(share_.rows, replicas_, replica_);
  return part_.rows;
}

bool LoaderTask::fire(const Firing& firing) {
  const auto samples =
      order_.subspan(static_cast<std::size_t>(share_.first + part_.first), static_cast<std::size_t>(part_.rows));
  load(samples, firing.outputs);
  BatchInfo{part_.rows, share_.batch_rows, share_.first_row + part_.first, firing.step}.write(firing.outputs.back());
  return true;
}

void LoaderTask::load(std::span<const std::int32_t> samples, std::span<const Tensor> to) const {
  if (!fields_) {
    std::ranges::copy(samples, to[0].mutable_data<std::int32_t>().begin());
    return;
  }
  for (std::size_t i = 0; i < fields_->size(); ++i) data_.gather(samples, (*fields_)[i], to[i]);
}

namespace {

/// The number of replicas that share the data, or the shard of the process, and the index of this replica among them.
std::pair<int, int> among_sharers(const ShardLayout& layout, int replicas, int replica, int process) {
  if (layout.whole()) return {replicas, replica};
  const int each = replicas / layout.shards();
  if (each * layout.shards() != replicas || replica / each != process)
    throw Error("loader", std::to_string(replicas) + " replicas do not fit " + std::to_string(layout.shards()) +
                              " shards of the data: every process needs the same number, one after the other");
  return {each, replica % each};
}

/// Adds a loader with these outputs before the batch info. `content` has the attributes that describe them.
ActorId add(Plan& plan, const std::string& source, const Dataset& data, const std::vector<TensorInfo>& outputs,
            Attributes content, std::uint64_t seed, int replicas, int replica, const Place& place) {
  PlanActor actor;
  actor.name = "loader@" + std::to_string(replica);
  actor.role = ActorRole::source;
  actor.place = place;
  actor.replica = replica;
  for (const auto& info : outputs) actor.outputs.emplace_back().info = info;
  actor.outputs.emplace_back().info = BatchInfo::info();
  actor.alone = data.prefetched() > 0;
  const auto& layout = data.layout();
  const auto [sharers, number] = among_sharers(layout, replicas, replica, place.process);
  actor.task = {"loader", source,
                content.with("replicas", std::int64_t{sharers})
                    .with("replica", std::int64_t{number})
                    .with("seed", static_cast<std::int64_t>(seed))
                    .with("rows", layout.whole() ? data.rows() : layout.rows()[static_cast<std::size_t>(place.process)])
                    .with("shards", layout.rows())
                    .with("batch_rows", data.batch_rows())};
  const auto loader = plan.add(std::move(actor));
  const auto capacity = static_cast<std::int32_t>(std::max<std::int64_t>(1, data.prefetched()));
  for (std::int32_t output = 0; output <= static_cast<std::int32_t>(outputs.size()); ++output)
    plan.edge_of(loader, output, capacity);
  return loader;
}

}  // namespace

ActorId add_loader(Plan& plan, const std::string& source, const Dataset& data, std::span<const std::string> fields,
                   std::uint64_t seed, int replicas, int replica, const Place& place) {
  std::vector<std::int64_t> numbers;
  std::vector<TensorInfo> outputs;
  for (const auto& field : fields) {
    const auto number = data.index_of(field);
    numbers.push_back(static_cast<std::int64_t>(number));
    outputs.push_back(data.fields()[number].info);
  }
  return add(plan, source, data, outputs, {{"fields", numbers}}, seed, replicas, replica, place);
}

ActorId add_index_loader(Plan& plan, const std::string& source, const Dataset& data, std::uint64_t seed, int replicas,
                         int replica, const Place& place) {
  return add(plan, source, data, {sample_indices_info()}, {}, seed, replicas, replica, place);
}

std::vector<std::size_t> fields_of(const PlanActor& actor, const Dataset& data) {
  const auto& numbers = actor.task.attributes.list("fields");
  std::vector<std::size_t> fields;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = static_cast<std::size_t>(numbers[i]);
    if (number >= data.fields().size() || !(data.fields()[number].info == actor.outputs[i].info))
      throw Error("loader", "'" + actor.task.subject + "' has other fields than the plan was made for");
    fields.push_back(number);
  }
  return fields;
}

std::unique_ptr<Task> make_loader_task(const PlanActor& actor, SpawnContext& context) {
  const auto& attributes = actor.task.attributes;
  const auto& data = context.source(actor.task.subject);
  if (data.rows() != attributes.integer("rows") || data.batch_rows() != attributes.integer("batch_rows"))
    throw Error("loader", "the plan was made for " + std::to_string(attributes.integer("rows")) +
                              " rows in batches of " + std::to_string(attributes.integer("batch_rows")) + ", but '" +
                              actor.task.subject + "' has " + std::to_string(data.rows()) + " in batches of " +
                              std::to_string(data.batch_rows()));
  if (data.layout().rows() != attributes.list("shards"))
    throw Error("loader", "the plan was made for other shards than '" + actor.task.subject + "' has");
  std::optional<std::vector<std::size_t>> fields;
  if (attributes.has("fields")) fields = fields_of(actor, data);
  return std::make_unique<LoaderTask>(data, std::move(fields), static_cast<std::uint64_t>(attributes.integer("seed")),
                                      static_cast<int>(attributes.integer("replicas")),
                                      static_cast<int>(attributes.integer("replica")));
}

}  // namespace troupe
