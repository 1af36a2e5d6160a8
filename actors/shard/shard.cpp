#include "troupe/actors/shard/shard.hpp"

#include <algorithm>

#include "troupe/actors/shard/update_count.hpp"
#include "troupe/actors/task/spawn_context.hpp"

namespace troupe {

namespace {

// Slots of an output of parameters. A slot holds a tensor until the worker returns it: one for the parameters that are
// sent, one for those of the worker's last batch.
constexpr std::int32_t kParameterSlots = 2;
constexpr std::int32_t kEventSlots = 16;

}  // namespace

Shard::Shard(caf::actor_config& config, const ShardOptions& options)
    : PortActor(config),
      options_(options),
      protocol_(options.rule, options.follows || options.records.replay ? ShardProtocol::Mode::follows
                                                                        : ShardProtocol::Mode::decides),
      workers_(static_cast<std::size_t>(options.rule.workers)) {
  // Parameters that come back from a lost worker are not sent again.
  tolerate_losses();
}

void Shard::on_run(const RunInfo& run) {
  protocol_.begin(run.first_step, run.first_step);
  next_update_ = first_step_ = run.first_step;
  if (options_.counts_updates) {
    const auto count = UpdateCount::read(update_count());
    next_update_ = count.step == run.first_step ? count.updates : run.first_step / options_.steps_per_update;
  }
  for (auto& worker : workers_) worker = {};
  finished_.clear();
  failure_ = nullptr;
  const auto recorded = options_.records.begin_run(name_in_plan(), runs_++);
  if (!options_.follows)
    for (auto& event : ShardEvent::from_numbers(recorded)) protocol_.follow(std::move(event));
  begin_run();
}

void Shard::advance() {
  take_events();
  take_requests();
  take_gradients();
  take_losses();
  const auto has_room = [this](int worker) {
    return has_free(static_cast<std::uint32_t>(worker)) && can_answer(worker);
  };
  while (can_tell()) {
    const auto event = protocol_.next(has_room);
    if (!event) return;
    tell(*event);
    carry_out(*event);
  }
}

void Shard::take_events() {
  const auto input = inputs() - 1;
  while (options_.follows && has(input)) {
    auto arrival = take(input);
    if (!arrival.failure) protocol_.follow(ShardEvent::decode(arrival.tensor));
    give_back(input, arrival);
  }
}

/// Whether the outputs to all shards that follow this shard have a free slot for an event.
bool Shard::can_tell() const {
  for (auto output = workers(); output < outputs(); ++output)
    if (!has_free(output)) return false;
  return true;
}

void Shard::tell(const ShardEvent& event) {
  if (outputs() == workers()) return;
  const auto encoded = event.encode(static_cast<int>(workers()));
  for (auto output = workers(); output < outputs(); ++output) send_output(output, encoded, protocol_.version());
}

void Shard::carry_out(const ShardEvent& event) {
  if (options_.records.record) options_.records.record->note(name_in_plan(), event.numbers());
  if (event.kind == ShardEvent::Kind::answer) return answer(event.workers.front());
  const auto has_gradients = [this](int number) { return worker(number).arrived && !worker(number).gradients.failure; };
  const bool counts = !failure_ && std::ranges::any_of(event.workers, has_gradients);
  if (event.kind == ShardEvent::Kind::update) update(event.workers);
  for (const auto worker : event.workers) finish_request(worker);
  if (options_.records.log && counts && !failure_)
    options_.records.log->note(protocol_.staleness(), event.kind == ShardEvent::Kind::update);
}

void Shard::take_requests() {
  bool all_ended = true;
  for (std::uint32_t i = 0; i < workers(); ++i) {
    while (has(i)) take_request(i);
    all_ended = all_ended && ended(i);
  }
  if (all_ended) protocol_.requests_ended();
}

void Shard::take_request(std::uint32_t from) {
  auto arrival = take(from);
  const auto sequence_number = options_.shared_steps ? arrival.step * workers() + from : arrival.step;
  if (arrival.failure) fail_with(arrival.failure);
  const auto batch = arrival.failure ? BatchInfo{.step = arrival.step} : BatchInfo::read(arrival.tensor);
  workers_[from].requests.push_back({batch, std::move(arrival)});
  const bool counts = options_.shared_steps || !finished_.contains(batch.step);
  if (!protocol_.requested(static_cast<int>(from), sequence_number, counts)) refuse_request(from);
}

/// Removes the worker's newest request, and refuses its batch info.
void Shard::refuse_request(std::uint32_t from) {
  auto& requests = workers_[from].requests;
  refuse(from, requests.back().info);
  requests.pop_back();
}

/// Notes lost workers, and refuses the batch infos of their requests that were not answered. An answered request stays
/// until an event of protocol_ applies its gradient, if that has arrived, or drops the request.
void Shard::take_losses() {
  for (std::uint32_t i = 0; i < workers(); ++i) {
    auto& worker = workers_[i];
    if (worker.lost || !lost(gradients_of(i))) continue;
    worker.lost = true;
    if (options_.records.record) options_.records.record->note_loss();
    protocol_.lost(static_cast<int>(i));
    const std::size_t in_flight = worker.answered ? 1 : 0;
    while (worker.requests.size() > in_flight) refuse_request(i);
    on_lost(static_cast<int>(i));
  }
}

void Shard::take_gradients() {
  for (std::uint32_t i = 0; i < workers(); ++i) {
    auto& worker = workers_[i];
    if (worker.arrived || !has(gradients_of(i))) continue;
    auto gradients = take(gradients_of(i));
    if (gradients.failure) worker_failed(gradients.failure);
    try {
      protocol_.pushed(static_cast<int>(i));
    } catch (...) {
      fail_with_exception();
      give_back(gradients_of(i), gradients);
      continue;
    }
    worker.gradients = std::move(gradients);
    worker.arrived = true;
  }
}

/// Removes the worker's answered request, and gives its batch info and gradient back to their producers. If the
/// gradient has not arrived because the worker was lost, refuses the batch info.
void Shard::finish_request(int number) {
  const auto input = static_cast<std::uint32_t>(number);
  auto& worker = workers_[input];
  if (!std::exchange(worker.answered, false)) return;
  forget_answer(number);
  if (!std::exchange(worker.arrived, false)) return refuse_request(input);
  finished_.insert(worker.requests.front().batch.step);
  give_back(gradients_of(input), worker.gradients);
  give_back(input, worker.requests.front().info);
  worker.gradients = {};
  worker.requests.pop_front();
}

void Shard::update(std::vector<int> from) {
  if (failure_) return;
  // The gradient of a lost worker may have arrived at the leading shard and not at this one, which follows.
  std::erase_if(from, [this](int number) { return !worker(number).arrived; });
  const auto failed = std::erase_if(from, [this](int number) { return worker(number).gradients.failure != nullptr; });
  if (from.empty() && failed > 0) return;
  try {
    combine(from);
    std::int64_t rows = 0;
    for (const auto worker : from) rows += rows_of(worker);
    update_parameters([&] {
      apply(next_update_++, rows);
      if (options_.counts_updates) UpdateCount{next_update_, first_step_}.write(update_count());
    });
  } catch (...) {
    fail_with_exception();
  }
  drop_combined();
}

void Shard::worker_failed(const FailurePtr& failure) {
  if (options_.shared_steps) fail_with(failure);
}

void Shard::fail_with(const FailurePtr& failure) {
  if (!failure_) failure_ = failure;
}

void Shard::fail_with_exception() {
  const auto failure = failure_now();
  report_failure(failure);
  fail_with(failure);
}

void Shard::answer(int number) {
  const auto output = static_cast<std::uint32_t>(number);
  if (worker(number).requests.empty()) return;  // the worker was lost, so its request was refused
  worker(number).answered = true;
  const auto step = worker(number).requests.front().info.step;
  if (!failure_) return send_answer(number, step);
  skip_answer(number);
  send_failure(output, failure_, step);
}

ActorId add_shard(Plan& plan, const std::string& name, const Place& place, const ShardOptions& options,
                  const ShardPorts& ports, int followers,
                  std::function<caf::actor(caf::actor_system&, ShardOptions)> spawn, PlanTask task) {
  const auto workers = static_cast<std::size_t>(options.rule.workers);
  const auto event = ShardEvent::info(options.rule.workers);
  std::vector<TensorInfo> inputs(workers, BatchInfo::info()), outputs(workers, ports.parameters);
  inputs.insert(inputs.end(), workers, ports.gradients);
  inputs.insert(inputs.end(), ports.further_inputs.begin(), ports.further_inputs.end());
  if (options.follows) inputs.push_back(event);
  outputs.insert(outputs.end(), static_cast<std::size_t>(followers), event);
  auto actor = external_actor(name, {std::move(inputs), std::move(outputs), {}, FiringRule::own, ports.held});
  actor.place = place;
  actor.spawn_external = [options, spawn = std::move(spawn)](caf::actor_system& system, SpawnContext& context) {
    auto with_records = options;
    with_records.records = {context.shard_log, context.record, context.replay};
    return spawn(system, std::move(with_records));
  };
  const auto& rule = options.rule;
  task.attributes = task.attributes.with("workers", std::int64_t{rule.workers})
                        .with("quorum", std::int64_t{rule.quorum})
                        .with("staleness", rule.staleness)
                        .with("drops", rule.late == LateGradients::dropped)
                        .with("compensation", rule.compensation);
  actor.task = std::move(task);
  const auto shard = plan.add(std::move(actor));
  for (std::size_t w = 0; w < workers; ++w) plan.edge_of(shard, static_cast<std::int32_t>(w), kParameterSlots);
  plan.add_edges(shard, kEventSlots);
  return shard;
}

}  // namespace troupe
