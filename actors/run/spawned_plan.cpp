#include "troupe/actors/run/spawned_plan.hpp"

#include <algorithm>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <map>
#include <set>
#include <thread>

#include "troupe/actors/plan/liveness.hpp"
#include "troupe/actors/run/segment_actor.hpp"
#include "troupe/actors/run/supervisor.hpp"
#include "troupe/actors/run/thread_pinning.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

constexpr std::chrono::seconds kDescribeLimit{1};
constexpr std::chrono::seconds kStopLimit{10};

/// Numbers the ports and outputs of every host and connects them.
class Wiring {
 public:
  explicit Wiring(const Plan& plan) : plan_(plan) {
    for (const auto& segment : plan.segments) hosts_ = std::max(hosts_, segment.host + 1);
    members_.resize(hosts_);
    for (std::size_t i = 0; i < plan.segments.size(); ++i)
      members_[plan.segments[i].host].push_back(static_cast<std::int32_t>(i));
    for (std::int32_t host = 0; host < hosts_; ++host) number(host);
  }

  std::int32_t hosts() const { return hosts_; }
  const std::vector<std::int32_t>& segments_of(std::int32_t host) const { return members_[host]; }

  std::vector<Wire> wires(const std::vector<caf::actor>& actors) const {
    std::vector<Wire> wires(hosts_);
    for (std::int32_t host = 0; host < hosts_; ++host) {
      for (auto edge : ports_[host]) wires[host].inputs.push_back(input_wire(edge, actors));
      for (auto edge : outputs_[host]) wires[host].outputs.push_back(output_wire(edge, actors));
    }
    number_consumers(wires);
    return wires;
  }

 private:
  struct End {
    std::int32_t host;
    std::uint32_t number;
    std::string name;
  };

  void number(std::int32_t host) {
    auto& ports = ports_.emplace_back();
    auto& outputs = outputs_.emplace_back();
    for (auto index : members_[host]) {
      const auto& segment = plan_.segments[index];
      const auto layout = lay_out(plan_, segment);
      for (auto edge : layout.ports) {
        consumers_[edge].push_back({host, static_cast<std::uint32_t>(ports.size()), segment.name});
        ports.push_back(edge);
      }
      for (const auto& output : layout.outputs) {
        producers_[output.edge] = {host, static_cast<std::uint32_t>(outputs.size()), segment.name};
        outputs.push_back(output.edge);
      }
    }
  }

  InputWire input_wire(EdgeId id, const std::vector<caf::actor>& actors) const {
    const auto& edge = plan_.edges[id];
    const auto& producer = producers_.at(id);
    return {{actors[producer.host], producer.number, 0},
            static_cast<std::uint32_t>(edge.capacity),
            static_cast<std::uint32_t>(edge.initial_tokens),
            edge.name,
            producer.name};
  }

  OutputWire output_wire(EdgeId id, const std::vector<caf::actor>& actors) const {
    const auto& edge = plan_.edges[id];
    OutputWire wire{
        {}, static_cast<std::uint32_t>(edge.capacity), static_cast<std::uint32_t>(edge.initial_tokens), edge.name, {}};
    for (const auto& consumer : consumers_.at(id)) {
      wire.consumers.push_back({actors[consumer.host], consumer.number});
      wire.consumer_names.push_back(consumer.name);
    }
    return wire;
  }

  void number_consumers(std::vector<Wire>& wires) const {
    for (const auto& [edge, consumers] : consumers_)
      for (std::size_t i = 0; i < consumers.size(); ++i)
        wires[consumers[i].host].inputs[consumers[i].number].producer.consumer = static_cast<std::uint32_t>(i);
  }

  const Plan& plan_;
  std::int32_t hosts_ = 0;
  std::vector<std::vector<std::int32_t>> members_;
  std::vector<std::vector<EdgeId>> ports_, outputs_;
  std::map<EdgeId, std::vector<End>> consumers_;
  std::map<EdgeId, End> producers_;
};

bool is_external(const Plan& plan, const PlanSegment& segment) {
  return plan.actors[segment.actors[0]].role == ActorRole::external;
}

}  // namespace

namespace {

/// Actors that do not stop in time are left to the actor system.
void wait_until_gone(caf::actor_system& system, const std::vector<caf::actor>& actors) {
  caf::scoped_actor self(system);
  for (const auto& actor : actors) self->monitor(actor);
  bool in_time = true;
  for (std::size_t gone = 0; gone < actors.size() && in_time; ++gone)
    self->receive([](const caf::down_msg&) {}, caf::after(kStopLimit) >> [&] { in_time = false; });
}

}  // namespace

SpawnedPlan::SpawnedPlan(Runtime& runtime, Plan plan, std::shared_ptr<Trace> trace)
    : runtime_(runtime), plan_(std::make_shared<const Plan>(std::move(plan))), state_(std::make_shared<RunState>()) {
  check_edges();
  check_liveness(*plan_);
  spawn_hosts(runtime, trace);
}

void SpawnedPlan::check_edges() const {
  if (plan_->segments.empty()) throw Error("plan", "has no segments: call split() or fuse() on it first");
  for (const auto& edge : plan_->edges)
    if (edge.consumers.empty()) throw Error("plan", "nobody reads edge '" + edge.name + "'");
  for (const auto& actor : plan_->actors) {
    const bool external = actor.role == ActorRole::external;
    if (external ? !actor.spawn_external : !actor.make_task)
      throw Error("plan", "'" + actor.name + "' has nothing to do: no task was given");
    if (!is_paced(*plan_, actor) && !is_source(*plan_, actor))
      throw Error("plan", "'" + actor.name + "' has no input that tells it when a step begins");
    if (external) check_external(actor);
    check_in_place(actor);
  }
}

void SpawnedPlan::check_external(const PlanActor& actor) const {
  for (const auto& input : actor.inputs)
    if (input.edge == kNone || input.byte_offset != 0 || !(input.info == plan_->edges[input.edge].info))
      throw Error("plan", "'" + actor.name + "' is an actor of one's own and reads whole outputs only");
  for (const auto& output : actor.outputs)
    if (output.edge != kNone && plan_->edges[output.edge].initial_tokens > 0)
      throw Error("plan", "'" + actor.name + "' is an actor of one's own and cannot have outputs with initial tokens");
}

void SpawnedPlan::check_in_place(const PlanActor& actor) const {
  std::set<std::int32_t> taken;
  for (const auto& output : actor.outputs) {
    if (output.alias_of == kNone) continue;
    const auto& input = actor.inputs.at(output.alias_of);
    const auto tokens = output.edge == kNone ? 0 : plan_->edges[output.edge].initial_tokens;
    if (input.edge == kNone || tokens > 0 || !taken.insert(output.alias_of).second)
      throw Error("plan", "'" + actor.name + "' cannot work in place like that");
    for (const auto& consumer : plan_->edges[input.edge].consumers) {
      const auto& other = plan_->actors[consumer.actor];
      if (&other != &actor && other.role != ActorRole::conductor)
        throw Error("plan", "'" + actor.name + "' works in place on what '" + other.name + "' reads too");
    }
  }
}

caf::actor SpawnedPlan::spawn_host(Runtime& runtime, std::int32_t host, const std::vector<Tensor>& blocks,
                                   const std::shared_ptr<Trace>& trace) {
  std::vector<std::int32_t> members;
  for (std::size_t i = 0; i < plan_->segments.size(); ++i)
    if (plan_->segments[i].host == host) members.push_back(static_cast<std::int32_t>(i));
  const auto& first = plan_->segments[members[0]];
  statuses_.back()->name = members.size() == 1 ? first.name : "host of " + to_string(first.device);
  if (is_external(*plan_, first)) return plan_->actors[first.actors[0]].spawn_external(runtime.system());
  HostSetup setup{plan_, members, blocks, statuses_.back(), trace, -1, {}};
  // A thread of its own is for the contracted actors of a device, not for a loader or the conductor alone.
  const bool contracted =
      std::any_of(members.begin(), members.end(), [&](auto i) { return plan_->segments[i].actors.size() > 1; });
  const bool has_thread = runtime.options().own_threads && contracted;
  if (!has_thread) return runtime.system().spawn<SegmentActor>(std::move(setup));
  setup.core = first.device.index;
  if (runtime.options().cpu_devices <= usable_cores()) setup.linger = runtime.options().linger;
  return runtime.system().spawn<SegmentActor, caf::detached>(std::move(setup));
}

void SpawnedPlan::spawn_hosts(Runtime& runtime, const std::shared_ptr<Trace>& trace) {
  const Wiring wiring(*plan_);
  std::vector<Tensor> blocks;
  for (auto bytes : plan_->blocks) blocks.emplace_back(Shape{static_cast<std::int64_t>(bytes)}, DType::uint8);
  try {
    for (std::int32_t host = 0; host < wiring.hosts(); ++host) {
      statuses_.push_back(std::make_shared<HostStatus>());
      hosts_.push_back(spawn_host(runtime, host, blocks, trace));
    }
  } catch (...) {
    for (const auto& host : hosts_) caf::anon_send(host, Stop{});
    throw;
  }
  auto wires = wiring.wires(hosts_);
  std::vector<SupervisedHost> supervised;
  for (std::int32_t host = 0; host < wiring.hosts(); ++host) {
    const auto& members = wiring.segments_of(host);
    const bool source = std::any_of(members.begin(), members.end(), [&](auto i) {
      const auto& actors = plan_->segments[i].actors;
      return std::any_of(actors.begin(), actors.end(), [&](auto id) { return is_source(*plan_, plan_->actors[id]); });
    });
    wires[host].status = statuses_[host];
    supervised.push_back({hosts_[host], statuses_[host]->name, source, std::move(wires[host])});
  }
  supervisor_ = runtime.system().spawn<Supervisor>(std::move(supervised), state_);
}

SpawnedPlan::~SpawnedPlan() {
  caf::anon_send(supervisor_, Stop{});
  supervisor_ = nullptr;
  if (runtime_.options().test_seed) {
    hosts_.clear();
    while (runtime_.run_one()) {
    }
    return;
  }
  wait_until_gone(runtime_.system(), std::exchange(hosts_, {}));
}

void SpawnedPlan::start(const RunInfo& run) {
  const auto phase = state_->phase();
  if (phase == RunState::Phase::running) throw Error("plan", "a run is on its way already");
  if (phase == RunState::Phase::failed)
    throw Error("plan", "cannot run again after a failure: " + to_string(*state_->failure()));
  state_->start();
  caf::anon_send(supervisor_, Begin{0, run.first_step, run.max_steps, run.epoch});
}

bool SpawnedPlan::done() const {
  return state_->phase() != RunState::Phase::running;
}

void SpawnedPlan::stop() {
  caf::anon_send(supervisor_, Pause{});
}

std::uint64_t SpawnedPlan::firings() const {
  std::uint64_t sum = 0;
  for (const auto& status : statuses_) sum += status->firings.load(std::memory_order_relaxed);
  return sum;
}

void SpawnedPlan::drive() {
  while (!done() && runtime_.run_one()) {
  }
  if (!done()) give_up("[watchdog] no actor has anything to do:" + describe());
}

void SpawnedPlan::wait(const WaitOptions& options) {
  if (runtime_.options().test_seed) drive();
  auto seen = firings();
  auto since = std::chrono::steady_clock::now();
  while (!state_->wait_for(options.interval)) {
    if (options.on_interval) options.on_interval();
    const auto now = std::chrono::steady_clock::now();
    const auto current = firings();
    if (current != seen) {
      seen = current;
      since = now;
    } else if (now - since > options.stall_limit) {
      give_up("[watchdog] no progress for " + std::to_string(options.stall_limit.count()) + " ms:" + describe());
    }
  }
  if (options.on_interval) options.on_interval();
  if (const auto failure = state_->failure()) throw Error("run", to_string(*failure));
}

std::string SpawnedPlan::describe() {
  const auto report = std::make_shared<StallReport>();
  for (const auto& host : hosts_) caf::anon_send<caf::message_priority::high>(host, Describe{report});
  const auto missing = [&](const auto& status) { return !report->has(status->name); };
  while (runtime_.options().test_seed && runtime_.run_one()) {
  }
  const auto until = std::chrono::steady_clock::now() + kDescribeLimit;
  while (std::any_of(statuses_.begin(), statuses_.end(), missing) && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  for (const auto& status : statuses_) {
    if (!missing(status)) continue;
    const auto* running = status->running.load(std::memory_order_relaxed);
    report->add(status->name,
                "'" + status->name + "' " + (running != nullptr ? "is busy in '" + *running + "'" : "does not answer"));
  }
  return report->text();
}

void SpawnedPlan::give_up(const std::string& reason) {
  state_->give_up(std::make_shared<Failure>(Failure{"watchdog", 0, 0, reason}));
}

}  // namespace troupe
