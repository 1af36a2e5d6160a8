#include "troupe/actors/shard/batch_dispatcher.hpp"

#include <algorithm>
#include <cstring>

#include "troupe/actors/run/function_task.hpp"
#include "troupe/actors/run/spawn_context.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/data/batch_info.hpp"

namespace troupe {

namespace {

/// Batches that a worker has been given and that it does not compute yet, besides the one that it does.
constexpr std::int32_t kAhead = 2;

TensorInfo samples_info() {
  return {Shape{kBatch}, DType::int32};
}

}  // namespace

std::int64_t BatchDispatcher::batch_rows(const Dataset& data, int workers, Dispatch dispatch) {
  return dispatch == Dispatch::parts ? data.batch_rows() : part_of_batch(data.batch_rows(), workers, 0).rows;
}

BatchDispatcher::BatchDispatcher(caf::actor_config& config, Dataset data, std::uint64_t seed, int workers,
                                 Dispatch dispatch)
    : PortActor(config),
      data_(std::move(data)),
      seed_(seed),
      workers_(workers),
      dispatch_(dispatch),
      batch_rows_(batch_rows(data_, workers, dispatch)),
      batches_((data_.rows() + batch_rows_ - 1) / batch_rows_) {}

void BatchDispatcher::on_run(const RunInfo& run) {
  order_ = data_.order(seed_, run.epoch);
  first_step_ = run.first_step;
  first_batch_ = run.first_batch;
  next_.assign(dispatch_ == Dispatch::parts ? static_cast<std::size_t>(workers_) : 1, first_batch_);
}

void BatchDispatcher::advance() {
  if (!is_open()) return;
  if (dispatch_ == Dispatch::parts ? send_parts() : send_to_free()) end();
}

bool BatchDispatcher::has_room(int worker) const {
  const auto output = static_cast<std::uint32_t>(2 * worker);
  return has_free(output) && has_free(output + 1);
}

/// True when all are sent.
bool BatchDispatcher::send_parts() {
  const auto last = std::min(batches_, end_step() - first_step_ + first_batch_);
  bool all = true;
  for (int worker = 0; worker < workers_; ++worker) {
    auto& next = next_[static_cast<std::size_t>(worker)];
    for (; next < last && has_room(worker); ++next) {
      const auto rows = std::min(batch_rows_, data_.rows() - next * batch_rows_);
      send(worker, next, part_of_batch(rows, workers_, worker));
    }
    all = all && next >= last;
  }
  return all;
}

bool BatchDispatcher::send_to_free() {
  const auto last = std::min(batches_, end_step() - first_step_ + first_batch_);
  auto& next = next_.front();
  for (int i = 1; i <= workers_ && next < last; ++i) {
    const int worker = (last_ + i) % workers_;
    if (!has_room(worker)) continue;
    send(worker, next, {0, std::min(batch_rows_, data_.rows() - next * batch_rows_)});
    ++next;
    last_ = worker;
    i = 0;
  }
  return next >= last;
}

void BatchDispatcher::send(int worker, std::int64_t batch, BatchPart part) {
  const auto rows = std::min(batch_rows_, data_.rows() - batch * batch_rows_);
  const auto step = first_step_ + batch - first_batch_;
  const Tensor samples(Shape{part.rows}, DType::int32), info(BatchInfo::info().shape, BatchInfo::info().dtype);
  const auto first = static_cast<std::size_t>(batch * batch_rows_ + part.first);
  if (part.rows > 0) std::memcpy(samples.mutable_raw(), &order_[first], samples.bytes());
  BatchInfo{part.rows, rows, part.first, step}.write(info);
  send_output(static_cast<std::uint32_t>(2 * worker), samples, step);
  send_output(static_cast<std::uint32_t>(2 * worker + 1), info, step);
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
                 {"parts", dispatch == Dispatch::parts},
                 {"seed", static_cast<std::int64_t>(seed)},
                 {"rows", data.rows()},
                 {"batch_rows", data.batch_rows()}}};
  actor.spawn_external = [=](caf::actor_system& system, SpawnContext& context) {
    const auto& known = context.source(source);
    return caf::actor_cast<caf::actor>(system.spawn<BatchDispatcher>(known, seed, workers, dispatch));
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
    return std::make_unique<FunctionTask>([known = context.source(source), numbers](const Firing& firing) {
      const auto samples = firing.inputs[0].data<std::int32_t>();
      for (std::size_t i = 0; i < numbers.size(); ++i) known.gather(samples, numbers[i], firing.outputs[i]);
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
