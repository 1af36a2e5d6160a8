#include "troupe/actors/run/supervisor.hpp"

#include <algorithm>

namespace troupe {

RunState::Phase RunState::phase() const {
  std::lock_guard lock(mutex_);
  return phase_;
}

FailurePtr RunState::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

void RunState::start() {
  std::lock_guard lock(mutex_);
  phase_ = Phase::running;
}

void RunState::finish() {
  std::lock_guard lock(mutex_);
  if (phase_ == Phase::running) phase_ = failure_ ? Phase::failed : Phase::done;
  changed_.notify_all();
}

void RunState::fail(const FailurePtr& failure) {
  std::lock_guard lock(mutex_);
  if (!failure_) failure_ = failure;
}

void RunState::give_up(const FailurePtr& failure) {
  std::lock_guard lock(mutex_);
  if (!failure_) failure_ = failure;
  phase_ = Phase::failed;
  changed_.notify_all();
}

bool RunState::wait_for(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [this] { return phase_ != Phase::running; });
}

Supervisor::Supervisor(caf::actor_config& config, std::vector<SupervisedHost> hosts, std::shared_ptr<RunState> state)
    : caf::event_based_actor(config), hosts_(std::move(hosts)), state_(std::move(state)) {
  set_down_handler([this](const caf::down_msg& down) { host_died(down); });
  set_error_handler([this](caf::error& error) {
    state_->give_up(std::make_shared<Failure>(Failure{"supervisor", run_.first_step, 0, system().render(error)}));
  });
}

caf::behavior Supervisor::make_behavior() {
  wire_all();
  return {
      [this](const Prepared&) { prepared(); },
      [this](const StepFailed& failed) {
        state_->fail(failed.failure);
        pause_sources();
      },
      [this](const SourcePaused& paused) { source_paused(paused); },
      [this](const RunFinished&) { host_finished(); },
      [this](const Begin& order) { begin_run(order); },
      [this](const Pause&) { pause_sources(); },
      [this](const Stop&) { stop_plan(); },
  };
}

void Supervisor::wire_all() {
  for (auto& host : hosts_) {
    monitor(host.actor);
    host.wire.supervisor = this;
    send(host.actor, std::move(host.wire));
    host.wire = {};
  }
}

void Supervisor::prepared() {
  if (++prepared_ < hosts_.size()) return;
  prepared_ = 0;
  if (!wired_) {
    wired_ = true;
    if (parked_run_) send_begin(*std::exchange(parked_run_, std::nullopt));
    return;
  }
  started_ = true;
  // Stopped before it began: the sources end without a step.
  for (const auto& host : hosts_) {
    if (!host.has_source) continue;
    if (stop_wanted_)
      send(host.actor, RunUntil{run_.first_step});
    else
      send(host.actor, Start{});
  }
}

void Supervisor::begin_run(Begin run) {
  run.run = ++runs_;
  run_ = run;
  running_ = true;
  started_ = stop_wanted_ = pausing_ = false;
  finished_ = paused_ = 0;
  furthest_step_ = run.first_step;
  if (wired_)
    send_begin(run);
  else
    parked_run_ = run;
}

void Supervisor::send_begin(const Begin& run) {
  for (const auto& host : hosts_) send(host.actor, run);
}

std::size_t Supervisor::count_sources() const {
  return static_cast<std::size_t>(
      std::count_if(hosts_.begin(), hosts_.end(), [](const SupervisedHost& host) { return host.has_source; }));
}

void Supervisor::pause_sources() {
  if (!running_) return;
  stop_wanted_ = true;
  if (!started_ || pausing_) return;
  pausing_ = true;
  for (const auto& host : hosts_)
    if (host.has_source) send(host.actor, Pause{run_.run});
}

void Supervisor::source_paused(const SourcePaused& paused) {
  // An answer may come after the end of the run it was asked for.
  if (!running_ || paused.run != run_.run) return;
  furthest_step_ = std::max(furthest_step_, paused.next_step);
  if (++paused_ < count_sources()) return;
  for (const auto& host : hosts_)
    if (host.has_source) send(host.actor, RunUntil{furthest_step_});
}

void Supervisor::host_finished() {
  if (++finished_ < hosts_.size()) return;
  running_ = false;
  state_->finish();
}

void Supervisor::host_died(const caf::down_msg& down) {
  if (stopping_) return;
  const auto dead = std::find_if(hosts_.begin(), hosts_.end(),
                                 [&](const SupervisedHost& host) { return host.actor.address() == down.source; });
  const auto name = dead == hosts_.end() ? "an actor" : dead->name;
  state_->give_up(std::make_shared<Failure>(
      Failure{name, run_.first_step, 0, "[supervisor] actor '" + name + "' died: " + system().render(down.reason)}));
}

void Supervisor::stop_plan() {
  stopping_ = true;
  for (const auto& host : hosts_) send<caf::message_priority::high>(host.actor, Stop{});
  hosts_.clear();
  quit();
}

}  // namespace troupe
