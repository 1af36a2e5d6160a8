#include "troupe/actors/run/loader.hpp"

#include <algorithm>

#include "troupe/actors/run/spawn_context.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/data/batch_info.hpp"

namespace troupe {

void LoaderTask::begin(const RunInfo& run, std::function<void()>) {
  order_ = data_.order(seed_, run.epoch);
  next_batch_ = run.first_batch;
}

std::optional<std::int64_t> LoaderTask::next_rows() {
  const auto first = next_batch_ * data_.batch_rows();
  if (first >= data_.rows()) return std::nullopt;
  batch_rows_ = std::min(data_.batch_rows(), data_.rows() - first);
  part_ = part_of_batch(batch_rows_, replicas_, replica_);
  ++next_batch_;
  return part_.rows;
}

bool LoaderTask::fire(const Firing& firing) {
  const auto first = (next_batch_ - 1) * data_.batch_rows() + part_.first;
  const auto samples = std::span(order_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(part_.rows));
  for (std::size_t i = 0; i < fields_.size(); ++i) data_.gather(samples, fields_[i], firing.outputs[i]);
  BatchInfo{part_.rows, batch_rows_, part_.first, firing.step}.write(firing.outputs[fields_.size()]);
  return true;
}

ActorId add_loader(Plan& plan, const std::string& source, const Dataset& data, std::span<const std::string> fields,
                   std::uint64_t seed, int replicas, int replica, const Place& place) {
  PlanActor actor;
  actor.name = "loader@" + std::to_string(replica);
  actor.role = ActorRole::source;
  actor.place = place;
  actor.replica = replica;
  std::vector<std::size_t> numbers;
  for (const auto& field : fields) {
    numbers.push_back(data.index_of(field));
    actor.outputs.emplace_back().info = data.fields()[numbers.back()].info;
  }
  actor.outputs.emplace_back().info = BatchInfo::info();
  actor.alone = data.prefetched() > 0;
  std::vector<std::int64_t> read(numbers.begin(), numbers.end());
  actor.task = {"loader",
                source,
                {{"fields", read},
                 {"replicas", std::int64_t{replicas}},
                 {"seed", static_cast<std::int64_t>(seed)},
                 {"rows", data.rows()},
                 {"batch_rows", data.batch_rows()}}};
  const auto loader = plan.add(std::move(actor));
  const auto capacity = static_cast<std::int32_t>(std::max<std::int64_t>(1, data.prefetched()));
  for (std::int32_t output = 0; output <= static_cast<std::int32_t>(fields.size()); ++output)
    plan.edge_of(loader, output, capacity);
  return loader;
}

std::unique_ptr<Task> make_loader_task(const PlanActor& actor, SpawnContext& context) {
  const auto& attributes = actor.task.attributes;
  const auto& data = context.source(actor.task.subject);
  const auto& numbers = attributes.list("fields");
  if (data.rows() != attributes.integer("rows") || data.batch_rows() != attributes.integer("batch_rows"))
    throw Error("loader", "the plan was made for " + std::to_string(attributes.integer("rows")) +
                              " rows in batches of " + std::to_string(attributes.integer("batch_rows")) + ", but '" +
                              actor.task.subject + "' has " + std::to_string(data.rows()) + " in batches of " +
                              std::to_string(data.batch_rows()));
  std::vector<std::size_t> fields;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = static_cast<std::size_t>(numbers[i]);
    if (number >= data.fields().size() || !(data.fields()[number].info == actor.outputs[i].info))
      throw Error("loader", "'" + actor.task.subject + "' has other fields than the plan was made for");
    fields.push_back(number);
  }
  return std::make_unique<LoaderTask>(data, fields, static_cast<std::uint64_t>(attributes.integer("seed")),
                                      static_cast<int>(attributes.integer("replicas")), actor.replica);
}

}  // namespace troupe
