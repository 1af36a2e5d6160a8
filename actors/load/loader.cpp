#include "troupe/actors/load/loader.hpp"

#include <algorithm>
#include <optional>

#include "troupe/actors/load/epoch_order.hpp"
#include "troupe/actors/task/function_task.hpp"
#include "troupe/actors/task/spawn_context.hpp"
#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

void gather_fields(const Dataset& data, std::span<const std::int32_t> samples, const std::vector<std::size_t>& fields,
                   std::span<const Tensor> to) {
  for (std::size_t i = 0; i < fields.size(); ++i) data.gather(samples, fields[i], to[i]);
}

class LoaderTask final : public Task {
 public:
  /// Loads the part of replica number `replica` of the `replicas` that share the data set or, if it is sharded, the
  /// shard of the process. `fields` are the indices of the fields that the outputs hold. Without `fields`, one output
  /// holds the indices of the samples in their place. The last output holds the batch info.
  LoaderTask(Dataset data, std::optional<std::vector<std::size_t>> fields, std::uint64_t seed, int replicas,
             int replica)
      : data_(std::move(data)),
        fields_(std::move(fields)),
        orders_(data_, seed),
        replicas_(replicas),
        replica_(replica) {}

  void begin(const RunInfo& run, std::function<void()>) override {
    order_ = &orders_.of(run.epoch);
    next_batch_ = run.first_batch;
  }

  bool is_source() const override { return true; }
  std::optional<std::int64_t> steps_left() const override { return data_.batches() - next_batch_; }

  std::optional<std::int64_t> next_rows() override {
    if (next_batch_ >= data_.batches()) return std::nullopt;
    share_ = share_of(next_batch_++);
    part_ = part_of_batch(share_.rows, replicas_, replica_);
    return part_.rows;
  }

  bool fire(const Firing& firing) override {
    if (fields_) {
      samples_.resize(static_cast<std::size_t>(part_.rows));
      order_->copy(share_.first + part_.first, samples_);
      gather_fields(data_, samples_, *fields_, firing.outputs);
    } else {
      order_->copy(share_.first + part_.first, firing.outputs[0].mutable_data<std::int32_t>());
    }
    BatchInfo{part_.rows, share_.batch_rows, share_.first_row + part_.first, firing.step}.write(firing.outputs.back());
    return true;
  }

 private:
  ShardLayout::Share share_of(std::int64_t batch) const {
    const auto batch_rows = data_.batch_rows();
    if (!data_.layout().whole()) return data_.layout().share(batch, batch_rows);
    const auto first = batch * batch_rows;
    const auto rows = std::min(batch_rows, data_.rows() - first);
    return {first, rows, 0, rows};
  }

  Dataset data_;
  std::optional<std::vector<std::size_t>> fields_;
  EpochOrder orders_;
  int replicas_, replica_;
  const SampleOrder* order_ = nullptr;
  std::vector<std::int32_t> samples_;
  std::int64_t next_batch_ = 0;
  ShardLayout::Share share_;
  BatchPart part_;
};

/// The number of replicas that share the data set or, if it is sharded, the shard of `process`, and the index of
/// replica `replica` among them. Throws Error if the replicas do not fit the shards.
std::pair<int, int> among_sharers(const ShardLayout& layout, int replicas, int replica, int process) {
  if (layout.whole()) return {replicas, replica};
  const int each = replicas / layout.shards();
  if (each * layout.shards() != replicas || replica / each != process)
    throw Error("loader", std::to_string(replicas) + " replicas do not fit " + std::to_string(layout.shards()) +
                              " shards of the data: every process needs the same number, one after the other");
  return {each, replica % each};
}

/// Adds a loader with an output slot for every batch that the data set prefetches, at least one. If the data set
/// prefetches, the loader is a segment of its own: other actors run while it loads.
ActorId add_prefetching(Plan& plan, PlanActor actor, const Dataset& data) {
  actor.alone = data.prefetched() > 0;
  const auto loader = plan.add(std::move(actor));
  plan.add_edges(loader, static_cast<std::int32_t>(std::max<std::int64_t>(1, data.prefetched())));
  return loader;
}

/// Adds a loader that is a source: it chooses the samples itself. The batch info becomes its last output.
ActorId add_source(Plan& plan, PlanActor actor, const Dataset& data, std::uint64_t seed, int replicas) {
  actor.role = ActorRole::source;
  actor.outputs.emplace_back().info = BatchInfo::info();
  const auto [sharers, number] = among_sharers(data.layout(), replicas, actor.replica, actor.place.process);
  actor.task.attributes = actor.task.attributes.with("replicas", std::int64_t{sharers})
                              .with("replica", std::int64_t{number})
                              .with("seed", static_cast<std::int64_t>(seed))
                              .with("rows", rows_in(data, actor.place.process))
                              .with("shards", data.layout().rows())
                              .with("batch_rows", data.batch_rows());
  return add_prefetching(plan, std::move(actor), data);
}

}  // namespace

std::int64_t rows_in(const Dataset& data, int process) {
  return data.layout().whole() ? data.rows() : data.layout().rows()[static_cast<std::size_t>(process)];
}

PlanActor loader_of(const std::string& kind, const std::string& source, const Dataset& data,
                    std::span<const std::string> fields, int replica, const Place& place) {
  PlanActor actor;
  actor.name = "loader@" + std::to_string(replica);
  actor.place = place;
  actor.replica = replica;
  std::vector<std::int64_t> numbers;
  for (const auto& field : fields) {
    const auto number = data.index_of(field);
    numbers.push_back(static_cast<std::int64_t>(number));
    actor.outputs.emplace_back().info = data.fields()[number].info;
  }
  actor.task = {kind, source, {{"fields", std::move(numbers)}}};
  return actor;
}

ActorId add_loader(Plan& plan, const std::string& source, const Dataset& data, std::span<const std::string> fields,
                   std::uint64_t seed, int replicas, int replica, const Place& place) {
  return add_source(plan, loader_of("loader", source, data, fields, replica, place), data, seed, replicas);
}

ActorId add_index_loader(Plan& plan, const std::string& source, const Dataset& data, std::uint64_t seed, int replicas,
                         int replica, const Place& place) {
  auto actor = loader_of("loader", source, data, {}, replica, place);
  actor.outputs.emplace_back().info = sample_indices_info();
  actor.task.attributes = {};
  return add_source(plan, std::move(actor), data, seed, replicas);
}

ActorId add_gatherer(Plan& plan, const std::string& source, const Dataset& data, std::span<const std::string> fields,
                     const OutputRef& indices, int worker, const Place& place) {
  auto actor = loader_of("gather", source, data, fields, worker, place);
  actor.make_task = [](const PlanActor& self, SpawnContext& context) -> std::unique_ptr<Task> {
    const auto& from = context.source(self.task.subject);
    return std::make_unique<FunctionTask>([dataset = from, numbers = fields_of(self, from)](const Firing& firing) {
      gather_fields(dataset, firing.inputs[0].data<std::int32_t>(), numbers, firing.outputs);
    });
  };
  const auto gatherer = add_prefetching(plan, std::move(actor), data);
  plan.connect(indices, gatherer);
  return gatherer;
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
