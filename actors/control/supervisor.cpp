#include "troupe/actors/control/supervisor.hpp"

#include <algorithm>

#include "troupe/actors/caf/mail.hpp"

namespace troupe {

namespace {

FailurePtr death_of(const std::string& name, const std::string& reason, std::int64_t step, FailureKind kind,
                    int process) {
  return std::make_shared<Failure>(Failure{.rank = process,
                                           .actor = name,
                                           .step = step,
                                           .kind = kind,
                                           .what = "[supervisor] actor '" + name + "' died: " + reason});
}

}  // namespace

Supervisor::Supervisor(caf::actor_config& config, std::vector<SupervisedActor> actors,
                       std::shared_ptr<RunControl> control, int process, std::function<void(const FailurePtr&)> abort)
    : caf::event_based_actor(config),
      actors_(std::move(actors)),
      control_(std::move(control)),
      process_(process),
      abort_(std::move(abort)) {
  const auto pass_order = [address = address()](const RunOrder& order) {
    if (const auto self = caf::actor_cast<caf::actor>(address))
      std::visit([&](const auto& message) { post(self, message); }, order);
  };
  part_ = control_->join(pass_order, sources() > 0);
  // If the supervisor ends by anything but a Stop, the run is given up, so that the other parts do not wait for this
  // one.
  attach_functor([control = control_, part = part_, process](const caf::error& reason) {
    control->leave(part);
    if (reason == caf::exit_reason::user_shutdown) return;
    const auto name = "supervisor of process " + std::to_string(process);
    control->give_up(death_of(name, caf::to_string(reason), 0, FailureKind::part_died, process));
  });
}

caf::behavior Supervisor::make_behavior() {
  wire_all();
  return {
      [this](const Prepared& report) { prepared(report.end_step); },
      [this](const StepFailed& report) { control_->failed(report.failure); },
      [this](const SourcePaused& report) {
        furthest_step_ = std::max(furthest_step_, report.next_step);
        if (++paused_ == sources()) control_->paused(part_, report.run, furthest_step_);
      },
      [this](const RunFinished&) {
        if (++finished_ == actors_.size()) control_->finished(part_);
      },
      [this](const PrepareRun& order) {
        end_step_ = kLastStep;
        prepared_ = finished_ = paused_ = 0;
        furthest_step_ = order.info.first_step;
        pass_on(order, false);
        if (!actors_.empty()) return;
        control_->prepared(part_, kLastStep);
        control_->finished(part_);
      },
      [this](const StartSources& order) { pass_on(order, true); },
      [this](const PauseSources& order) {
        paused_ = 0;
        pass_on(order, true);
      },
      [this](const RunUntil& order) { pass_on(order, true); },
      [this](const AbortRun& order) {
        abort_(order.failure);
        control_->give_up(order.failure);
      },
      [this](const Stop&) {
        for (const auto& supervised : actors_) tell<caf::message_priority::high>(*this, supervised.actor, Stop{});
        quit(caf::exit_reason::user_shutdown);
      },
  };
}

void Supervisor::on_exit() {
  actors_.clear();
}

template <class Order>
void Supervisor::pass_on(const Order& order, bool sources_only) {
  for (const auto& supervised : actors_)
    if (supervised.has_source || !sources_only) tell(*this, supervised.actor, order);
}

std::size_t Supervisor::sources() const {
  return static_cast<std::size_t>(std::ranges::count_if(actors_, &SupervisedActor::has_source));
}

void Supervisor::wire_all() {
  for (std::size_t number = 0; number < actors_.size(); ++number) {
    auto& supervised = actors_[number];
    troupe::watch(*this, supervised.actor,
                  [this, number](const caf::error& reason) { actor_died(actors_.at(number), reason); });
    supervised.wire.supervisor = this;
    tell(*this, supervised.actor, std::move(supervised.wire));
    supervised.wire = {};
  }
  if (actors_.empty()) control_->wired(part_);
}

void Supervisor::prepared(std::int64_t end_step) {
  end_step_ = std::min(end_step_, end_step);
  if (++prepared_ < actors_.size()) return;
  prepared_ = 0;
  if (std::exchange(wired_, true))
    control_->prepared(part_, end_step_);
  else
    control_->wired(part_);
}

void Supervisor::actor_died(const SupervisedActor& dead, const caf::error& reason) {
  control_->give_up(death_of(dead.name, error_text(system(), reason), dead.status->step.load(std::memory_order_relaxed),
                             FailureKind::actor_died, process_));
}

}  // namespace troupe
