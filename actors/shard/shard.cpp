#include "troupe/actors/shard/shard.hpp"

#include <algorithm>

#include "troupe/actors/task/spawn_context.hpp"
#include "troupe/ops/core/batch_info.hpp"

namespace troupe {

namespace {

/// Of the parameters of a worker: it may still hold those of its last batch.
constexpr std::int32_t kParameterSlots = 2;
constexpr std::int32_t kEventSlots = 16;

}  // namespace

Shard::Shard(caf::actor_config& config, const ShardOptions& options)
    : PortActor(config),
      options_(options),
      protocol_(options.rule,
                options.follows || options.replay ? ShardProtocol::Mode::follows : ShardProtocol::Mode::decides),
      workers_(static_cast<std::size_t>(options.rule.workers)) {}

void Shard::on_run(const RunInfo& run) {
  protocol_.begin(options_.shared_steps ? run.first_step : updates_of(0), run.first_step);
  for (auto& worker : workers_) worker = {};
  finished_.clear();
  failure_ = nullptr;
  begin_recorded_run();
  begin_run();
}

void Shard::begin_recorded_run() {
  const auto run = runs_++;
  if (options_.record) options_.record->begin_run(name_in_plan());
  if (!options_.replay || options_.follows) return;
  const auto numbers = options_.replay->of_run(name_in_plan(), run);
  for (auto& event : ShardEvent::from_numbers(numbers)) protocol_.follow(std::move(event));
}

void Shard::advance() {
  take_events();
  take_tickets();
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

/// Whether those that follow have room for an event.
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
  if (options_.record) options_.record->note(name_in_plan(), event.numbers());
  if (event.kind == ShardEvent::Kind::answer) return answer(event.workers.front());
  if (event.kind == ShardEvent::Kind::update) update(event.workers);
  for (const auto worker : event.workers) finish_turn(worker);
  if (!options_.log || failure_) return;
  for (const auto staleness : protocol_.staleness()) {
    if (event.kind == ShardEvent::Kind::update)
      options_.log->note_applied(staleness);
    else
      options_.log->note_dropped();
  }
}

void Shard::take_tickets() {
  bool all_ended = true;
  for (std::uint32_t i = 0; i < workers(); ++i) {
    while (has(i)) take_ticket(i);
    all_ended = all_ended && ended(i);
  }
  if (all_ended) protocol_.tickets_ended();
}

void Shard::take_ticket(std::uint32_t from) {
  auto& turns = workers_[from].turns;
  auto arrival = take(from);
  const auto ticket = options_.shared_steps ? arrival.step * workers() + from : arrival.step;
  BatchInfo batch{.step = arrival.step};
  if (!arrival.failure)
    batch = BatchInfo::read(arrival.tensor);
  else
    fail_with(arrival.failure);
  turns.push_back({batch.step, batch.rows, batch.global_rows, std::move(arrival)});
  const bool wanted = options_.shared_steps || !finished_.contains(batch.step);
  if (!protocol_.pulled(static_cast<int>(from), ticket, wanted)) refuse_turn(from);
}

/// The last of a worker.
void Shard::refuse_turn(std::uint32_t from) {
  auto& turns = workers_[from].turns;
  refuse(from, turns.back().info);
  turns.pop_back();
}

/// What was asked for a lost worker is not answered; what it has in flight the protocol drops.
void Shard::take_losses() {
  for (std::uint32_t i = 0; i < workers(); ++i) {
    auto& worker = workers_[i];
    if (worker.lost || !lost(gradients_of(i))) continue;
    worker.lost = true;
    if (options_.record) options_.record->note_loss();
    protocol_.lost(static_cast<int>(i));
    const std::size_t in_flight = worker.answered ? 1 : 0;
    while (worker.turns.size() > in_flight) refuse_turn(i);
    on_lost(static_cast<int>(i));
  }
}

void Shard::take_gradients() {
  for (std::uint32_t i = 0; i < workers(); ++i) {
    auto& worker = workers_[i];
    if (worker.arrived || !has(gradients_of(i))) continue;
    auto gradients = take(gradients_of(i));
    if (gradients.failure) fail_with(gradients.failure);
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

/// The gradient of a lost worker may not have come.
void Shard::finish_turn(int number) {
  const auto input = static_cast<std::uint32_t>(number);
  auto& worker = workers_[input];
  if (!std::exchange(worker.answered, false)) return;
  forget_answer(number);
  if (!std::exchange(worker.arrived, false)) return refuse_turn(input);
  finished_.insert(worker.turns.front().step);
  give_back(gradients_of(input), worker.gradients);
  give_back(input, worker.turns.front().info);
  worker.gradients = {};
  worker.turns.pop_front();
}

void Shard::update(std::vector<int> from) {
  if (failure_) return;
  // Of a lost worker a shard that follows may miss what the one that leads has got.
  std::erase_if(from, [this](int number) { return !worker(number).arrived; });
  // The version is already that which the update makes.
  const auto number = protocol_.version() - 1;
  try {
    combine(from);
    update_parameters([&] { apply(number); });
  } catch (...) {
    fail_with_exception();
  }
  drop_combined();
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
  if (worker(number).turns.empty()) return;  // of a lost worker
  worker(number).answered = true;
  const auto step = worker(number).turns.front().info.step;
  if (!failure_) return send_answer(number, step);
  skip_answer(number);
  send_failure(output, failure_, step);
}

ActorId add_shard(Plan& plan, const std::string& name, const Place& place, const ShardOptions& options,
                  const ShardPorts& ports, int followers,
                  std::function<caf::actor(caf::actor_system&, ShardOptions)> spawn, PlanTask task) {
  const auto workers = static_cast<std::size_t>(options.rule.workers);
  const auto event = ShardEvent::info(options.rule.workers);
  PlanActor actor;
  actor.name = name;
  actor.role = ActorRole::external;
  actor.place = place;
  actor.rule = FiringRule::own;
  auto& inputs = actor.declared_inputs.emplace(workers, BatchInfo::info());
  inputs.insert(inputs.end(), workers, ports.gradients);
  inputs.insert(inputs.end(), ports.further_inputs.begin(), ports.further_inputs.end());
  if (options.follows) inputs.push_back(event);
  for (std::size_t w = 0; w < workers; ++w) actor.outputs.push_back({.info = ports.parameters});
  for (int f = 0; f < followers; ++f) actor.outputs.push_back({.info = event});
  actor.parameters = ports.held;
  actor.spawn_external = [options, spawn = std::move(spawn)](caf::actor_system& system, SpawnContext& context) {
    auto own = options;
    own.log = context.shard_log;
    own.record = context.record;
    own.replay = context.replay;
    return spawn(system, std::move(own));
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
  for (int f = 0; f < followers; ++f) plan.edge_of(shard, static_cast<std::int32_t>(workers) + f, kEventSlots);
  return shard;
}

}  // namespace troupe
