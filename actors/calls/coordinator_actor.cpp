#include "troupe/actors/calls/coordinator_actor.hpp"

#include <caf/event_based_actor.hpp>
#include <map>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/actors/calls/call_board.hpp"
#include "troupe/actors/calls/pending_call.hpp"
#include "troupe/actors/messages/messages.hpp"

namespace troupe {

namespace {

/// Keeps the board, and sends calls to the workers.
class CoordinatorActor final : public caf::event_based_actor {
 public:
  CoordinatorActor(caf::actor_config& config, int in_flight, std::shared_ptr<CallMonitor> monitor,
                   std::shared_ptr<Variables> variables)
      : caf::event_based_actor(config),
        board_(in_flight),
        monitor_(std::move(monitor)),
        variables_(std::move(variables)) {}

  caf::behavior make_behavior() override {
    return {[this](const CallScheduled& scheduled) {
              calls_[board_.schedule()] = scheduled.call;
              assign();
            },
            [this](CallEnded& ended) { take(ended.call, ended.result); },
            [this](const WorkerJoined& joined) {
              workers_[joined.worker] = joined.actor;
              board_.add_worker(joined.worker);
              note_workers();
              assign();
            },
            [this](const WorkerLost& lost) {
              board_.lose_worker(lost.worker);
              workers_.erase(lost.worker);
              note_workers();
              assign();
            },
            [this](const Stop&) { quit(); }};
  }

  void on_exit() override {
    for (const auto& [number, worker] : workers_) post(worker, Stop{});
    workers_.clear();
  }

 private:
  void assign() {
    for (const auto& [worker, call] : board_.assign()) post(workers_.at(worker), CallOrdered{call, calls_.at(call)});
  }

  void take(std::int64_t call, CallResult& result) {
    if (board_.is_open(call) && result.error.empty()) result.error = error_of(result.updates);
    if (!result.error.empty()) {
      fail(call, result.error);
    } else if (board_.complete(call)) {
      variables_->add(result.updates);
      calls_.extract(call).mapped()->end_with(std::move(result.outputs));
      note_ended(1, {});
    }
    assign();
  }

  /// The error of the first update that cannot be added. Empty if all can.
  std::string error_of(const std::vector<VariableUpdate>& updates) const {
    try {
      for (const auto& update : updates) variables_->check(update);
      return {};
    } catch (const std::exception& error) {
      return error.what();
    }
  }

  void fail(std::int64_t call, const std::string& error) {
    const auto ended = board_.fail(call);
    if (ended.empty()) return;
    const auto text = "'" + calls_.at(call)->function + "' failed: " + error;
    for (const auto other : ended)
      calls_.extract(other).mapped()->end_with(other == call ? text : "canceled, because " + text);
    note_ended(static_cast<std::int64_t>(ended.size()), text);
  }

  void note_ended(std::int64_t calls, const std::string& error) {
    std::lock_guard lock(monitor_->mutex);
    monitor_->open -= calls;
    monitor_->ended += calls;
    if (monitor_->first_error.empty()) monitor_->first_error = error;
    monitor_->changed.notify_all();
  }

  void note_workers() {
    std::lock_guard lock(monitor_->mutex);
    monitor_->workers = board_.workers();
    monitor_->changed.notify_all();
  }

  CallBoard board_;
  std::shared_ptr<CallMonitor> monitor_;
  std::shared_ptr<Variables> variables_;
  std::map<std::int64_t, std::shared_ptr<PendingCall>> calls_;  // open calls
  std::map<int, caf::actor> workers_;
};

}  // namespace

caf::actor spawn_coordinator(caf::actor_system& system, int in_flight, std::shared_ptr<CallMonitor> monitor,
                             std::shared_ptr<Variables> variables) {
  return caf::actor_cast<caf::actor>(
      system.spawn<CoordinatorActor>(in_flight, std::move(monitor), std::move(variables)));
}

}  // namespace troupe
