#include "troupe/actors/shard/batch_dispatcher.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "troupe/actors/task/function_task.hpp"
#include "troupe/actors/task/spawn_context.hpp"
#include "troupe/ops/core/batch_info.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

// Batches that a worker has: the current one and the next.
constexpr std::int32_t kAhead = 2;

TensorInfo samples_info() {
  return {Shape{kBatch}, DType::int32};
}

}  // namespace

std::int64_t BatchDispatcher::batch_rows(const Dataset& data, int workers, Dispatch dispatch) {
  return dispatch == Dispatch::parts ? data.batch_rows() : part_of_batch(data.batch_rows(), workers, 0).rows;
}

BatchDispatcher::BatchDispatcher(caf::actor_config& config, Dataset data, std::uint64_t seed, int workers,
                                 Dispatch dispatch, RunRecords records)
    : PortActor(config),
      data_(std::move(data)),
      seed_(seed),
      workers_(workers),
      dispatch_(dispatch),
      records_(std::move(records)),
      batch_rows_(batch_rows(data_, workers, dispatch)),
      batches_((data_.rows() + batch_rows_ - 1) / batch_rows_) {}

void BatchDispatcher::on_run(const RunInfo& run) {
  order_ = data_.order(seed_, run.epoch);
  first_step_ = run.first_step;
  first_batch_ = run.first_batch;
  next_.assign(dispatch_ == Dispatch::parts ? static_cast<std::size_t>(workers_) : 1, first_batch_);
  sequence_numbers_ = 0;
  sent_.clear();
  refused_.clear();
  lost_.clear();
  if (dispatch_ != Dispatch::parts) begin_recorded_run();
}

void BatchDispatcher::begin_recorded_run() {
  const auto numbers = records_.begin_run(name_in_plan(), runs_++);
  if (!records_.replay) return;
  recorded_.assign(static_cast<std::size_t>(workers_), {});
  end_batch_ = first_batch_;
  for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
    const auto [worker, batch] = std::pair(numbers[i], numbers[i + 1]);
    if (worker < 0 || worker >= workers_ || batch < 0 || batch >= batches_)
      throw Error("replay", "the recording gives batch " + std::to_string(batch) + " to worker " +
                                std::to_string(worker) + ", of " + std::to_string(batches_) + " and " +
                                std::to_string(workers_));
    recorded_[static_cast<std::size_t>(worker)].emplace_back(batch, sequence_numbers_++);
    end_batch_ = std::max(end_batch_, std::int64_t{batch} + 1);
  }
}

/// Returns true when all batches have been sent.
bool BatchDispatcher::send_as_recorded() {
  bool all = true;
  for (int worker = 0; worker < workers_; ++worker) {
    auto& next = recorded_[static_cast<std::size_t>(worker)];
    for (; !next.empty() && has_room(worker); next.pop_front())
      send_part(worker, next.front().first, {0, rows_of(next.front().first)}, first_step_ + next.front().second);
    all = all && next.empty();
  }
  return all && (dispatch_ == Dispatch::first_free || sent_.empty());
}

void BatchDispatcher::advance() {
  if (!is_open()) return;
  if (!(dispatch_ == Dispatch::parts ? send_parts() : send_to_free())) return;
  if (records_.log) records_.log->note_end_step(first_step_ + batch_limit() - first_batch_);
  end();
}

/// The batch after the last one of this run.
std::int64_t BatchDispatcher::batch_limit() const {
  return records_.replay && dispatch_ != Dispatch::parts ? end_batch_
                                                         : std::min(batches_, end_step() - first_step_ + first_batch_);
}

std::int64_t BatchDispatcher::rows_of(std::int64_t batch) const {
  return std::min(batch_rows_, data_.rows() - batch * batch_rows_);
}

bool BatchDispatcher::has_room(int worker) const {
  return has_free(samples_of(worker)) && has_free(infos_of(worker));
}

/// Returns true when all parts have been sent.
bool BatchDispatcher::send_parts() {
  const auto limit = batch_limit();
  bool all = true;
  for (int worker = 0; worker < workers_; ++worker) {
    auto& next = next_[static_cast<std::size_t>(worker)];
    for (; next < limit && has_room(worker); ++next)
      send_part(worker, next, part_of_batch(rows_of(next), workers_, worker), first_step_ + next - first_batch_);
    all = all && next >= limit;
  }
  return all;
}

/// Returns true when all batches have been sent.
bool BatchDispatcher::send_to_free() {
  if (records_.replay) return send_as_recorded();
  const auto limit = batch_limit();
  auto& next = next_.front();
  while (next < limit || !refused_.empty()) {
    const auto worker = next_free();
    if (!worker) return false;
    const auto batch = refused_.empty() ? next++ : refused_.extract(refused_.begin()).value();
    if (records_.record) records_.record->note(name_in_plan(), std::array{*worker, static_cast<std::int32_t>(batch)});
    send_part(*worker, batch, {0, rows_of(batch)}, first_step_ + sequence_numbers_++);
  }
  return dispatch_ == Dispatch::first_free || sent_.empty();
}

/// The next worker with room, round robin. Throws Error if all workers are lost.
std::optional<int> BatchDispatcher::next_free() {
  if (static_cast<int>(lost_.size()) == workers_) throw Error("dispatcher", "all workers are lost");
  for (int i = 1; i <= workers_; ++i) {
    const int worker = (last_ + i) % workers_;
    if (!lost_.contains(worker) && has_room(worker)) return last_ = worker;
  }
  return std::nullopt;
}

void BatchDispatcher::send_part(int worker, std::int64_t batch, BatchPart part, std::int64_t sequence_number) {
  const Tensor samples(Shape{part.rows}, DType::int32), info(BatchInfo::info().shape, BatchInfo::info().dtype);
  const auto first = static_cast<std::size_t>(batch * batch_rows_ + part.first);
  if (part.rows > 0) std::memcpy(samples.mutable_raw(), &order_[first], samples.bytes());
  BatchInfo{part.rows, rows_of(batch), part.first, first_step_ + batch - first_batch_}.write(info);
  send_output(samples_of(worker), samples, sequence_number);
  sent_[{infos_of(worker), send_output(infos_of(worker), info, sequence_number)}] = batch;
}

void BatchDispatcher::on_slot_free(std::uint32_t output, std::uint32_t slot) {
  const auto sent = sent_.find({output, slot});
  if (sent == sent_.end()) return;
  if (was_refused(output, slot)) {
    refused_.insert(sent->second);
    lost_.insert(static_cast<int>(output / 2));
  }
  sent_.erase(sent);
}

ActorId add_dispatcher(Plan& plan, const std::string& source, const Dataset& data, std::uint64_t seed, int workers,
                       Dispatch dispatch, const Place& place) {
  ExternalPorts ports;
  for (int worker = 0; worker < workers; ++worker) {
    ports.outputs.push_back(samples_info());
    ports.outputs.push_back(BatchInfo::info());
  }
  ports.rule = FiringRule::own;
  auto actor = external<BatchDispatcher>("dispatcher", std::move(ports), data, seed, workers, dispatch);
  actor.place = place;
  actor.task = {"dispatcher",
                source,
                {{"workers", std::int64_t{workers}},
                 {"dispatch", static_cast<std::int64_t>(dispatch)},
                 {"seed", static_cast<std::int64_t>(seed)},
                 {"rows", data.rows()},
                 {"batch_rows", data.batch_rows()}}};
  actor.spawn_external = [=](caf::actor_system& system, SpawnContext& context) {
    const RunRecords records{context.shard_log, context.record, context.replay};
    return caf::actor_cast<caf::actor>(
        system.spawn<BatchDispatcher>(context.source(source), seed, workers, dispatch, records));
  };
  const auto dispatcher = plan.add(std::move(actor));
  for (std::int32_t output = 0; output < 2 * workers; ++output) plan.edge_of(dispatcher, output, kAhead);
  return dispatcher;
}

ActorId add_gatherer(Plan& plan, const std::string& source, const Dataset& data, std::span<const std::string> fields,
                     ActorId dispatcher, int worker, const Place& place) {
  PlanActor actor;
  actor.name = "loader@" + std::to_string(worker);
  actor.place = place;
  actor.replica = worker;
  std::vector<std::size_t> numbers;
  for (const auto& field : fields) {
    numbers.push_back(data.index_of(field));
    actor.outputs.emplace_back().info = data.fields()[numbers.back()].info;
  }
  actor.alone = data.prefetched() > 0;
  actor.task = {"gather", source, {{"fields", std::vector<std::int64_t>(numbers.begin(), numbers.end())}}};
  actor.make_task = [source, numbers](const PlanActor&, SpawnContext& context) -> std::unique_ptr<Task> {
    return std::make_unique<FunctionTask>([dataset = context.source(source), numbers](const Firing& firing) {
      const auto samples = firing.inputs[0].data<std::int32_t>();
      for (std::size_t i = 0; i < numbers.size(); ++i) dataset.gather(samples, numbers[i], firing.outputs[i]);
    });
  };
  const auto gatherer = plan.add(std::move(actor));
  plan.connect(dispatcher, 2 * worker, gatherer, kAhead);
  const auto capacity = static_cast<std::int32_t>(std::max<std::int64_t>(1, data.prefetched()));
  for (std::int32_t output = 0; output < static_cast<std::int32_t>(fields.size()); ++output)
    plan.edge_of(gatherer, output, capacity);
  return gatherer;
}

}  // namespace troupe
