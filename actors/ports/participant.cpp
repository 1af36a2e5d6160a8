#include "troupe/actors/ports/participant.hpp"

#include <caf/message_handler.hpp>

#include "troupe/actors/caf/mail.hpp"

namespace troupe {

Participant::Participant(caf::actor_config& config) : caf::event_based_actor(config), ports_(*this, *this) {
  set_exception_handler([this](std::exception_ptr& error) -> caf::error {
    report_failure(std::make_shared<Failure>(
        Failure{.rank = rank_, .actor = status_->name, .kind = FailureKind::actor_died, .what = text_of(error)}));
    return caf::sec::runtime_error;
  });
}

caf::behavior Participant::make_behavior() {
  caf::message_handler handlers{
      [this](TensorReady& ready) { accept(ready); },
      [this](const CreditReturned& returned) { accept(returned); },
      [this](const DataEnded& ended) { accept(ended); },
      [this](const ConsumerLost& lost) { accept(lost); },
      [this](const WorkCompleted& completed) { accept(completed); },
      [this](Wire& order) { wire(order); },
      [this](const PrepareRun& order) { prepare(order); },
      [this](const StartSources& order) {
        on_run_until(order.end_step);
        work();
      },
      [this](const PauseSources& order) {
        tell(*this, supervisor_, SourcePaused{order.run, on_pause()});
        work();
      },
      [this](const RunUntil& order) {
        on_run_until(order.end_step);
        work();
      },
      [this](const Describe& order) {
        describe(*order.report);
        if (is_wired()) work();
      },
      [this](const Stop&) { stop(); },
  };
  return handlers.or_else(own_handlers());
}

template <class Message>
void Participant::accept(Message& message) {
  ports_.accept(message);
  work();
}

void Participant::wire(Wire& order) {
  status_ = order.status;
  status_->watched.store(is_watched(), std::memory_order_relaxed);
  supervisor_ = order.supervisor;
  rank_ = order.rank;
  // Stop comes from the supervisor or from the owner of the plan. If the supervisor dies, it sends no Stop, so this
  // actor stops at once.
  troupe::watch(*this, supervisor_, [this](const caf::error&) {
    if (supervisor_) stop();
  });
  ports_.wire(order.generation, std::move(order.inputs), std::move(order.outputs));
  parameters_.hold(name_in_plan(), std::move(order.parameters));
  on_wired();
  tell(*this, supervisor_, Prepared{});
}

void Participant::prepare(const PrepareRun& order) {
  Prepared prepared;
  status_->finished.store(false, std::memory_order_relaxed);
  note_step(order.info.first_step);
  try {
    ports_.prepare(order.run);
    prepared.end_step = on_prepare(order);
  } catch (...) {
    report_failure(current_failure({.rank = rank_, .actor = status_->name, .step = order.info.first_step}));
    prepared.end_step = order.info.first_step;
  }
  tell(*this, supervisor_, prepared);
  work();
}

void Participant::lose_peer(const FailurePtr& failure) {
  if (supervisor_) tell(*this, supervisor_, AbortRun{failure});
}

FailurePtr Participant::on_work_failed(Failure failure) {
  failure.rank = rank_;
  auto reported = std::make_shared<const Failure>(std::move(failure));
  report_failure(reported);
  return reported;
}

void Participant::report_failure(const FailurePtr& failure) {
  if (supervisor_) tell(*this, supervisor_, StepFailed{failure});
}

void Participant::report_end(const EndRun& end) {
  auto failure = end.failure();
  failure.rank = rank_;
  report_failure(std::make_shared<const Failure>(std::move(failure)));
}

void Participant::report_finished() {
  status_->finished.store(true, std::memory_order_relaxed);
  tell(*this, supervisor_, RunFinished{});
}

void Participant::stop() {
  on_exit();
  quit();
}

void Participant::on_exit() {
  on_stop();
  ports_.clear();
  parameters_.clear();
  supervisor_ = nullptr;
}

}  // namespace troupe
