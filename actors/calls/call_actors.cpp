#include "troupe/actors/calls/call_actors.hpp"

#include <caf/event_based_actor.hpp>
#include <map>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/actors/calls/call_board.hpp"
#include "troupe/actors/calls/call_frames.hpp"
#include "troupe/actors/messages/messages.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/signals_blocked.hpp"
#include "troupe/transport/link_reader.hpp"

namespace troupe {

namespace {

/// The actor of the Coordinator. It keeps the CallBoard, sends calls to the workers, and applies their results.
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
    for (const auto& [worker, number] : board_.assign()) {
      const auto& pending = calls_.at(number);
      post(workers_.at(worker), CallOrdered{number, {pending, &pending->call}});
    }
  }

  void take(std::int64_t call, CallResult& result) {
    try {
      if (board_.is_open(call) && result.error.empty()) variables_->add(result.updates);
    } catch (const std::exception& error) {
      result.error = error.what();
    }
    if (!result.error.empty()) {
      fail(call, result.error);
    } else if (board_.complete(call)) {
      calls_.extract(call).mapped()->result.set_value(std::move(result.outputs));
      note_ended(1, {});
    }
    assign();
  }

  void fail(std::int64_t call, const std::string& error) {
    const auto ended = board_.fail(call);
    if (ended.empty()) return;
    const auto text = "'" + calls_.at(call)->call.function + "' failed: " + error;
    for (const auto other : ended)
      calls_.extract(other).mapped()->result.set_exception(
          std::make_exception_ptr(Error("coordinator", other == call ? text : "canceled, because " + text)));
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
  std::map<std::int64_t, std::shared_ptr<PendingCall>> calls_;  // by number: the calls that have not ended
  std::map<int, caf::actor> workers_;
};

class RemoteWorker final : public caf::event_based_actor {
 public:
  RemoteWorker(caf::actor_config& config, int worker, std::shared_ptr<Link> link, caf::actor owner,
               std::shared_ptr<const Variables> variables)
      : caf::event_based_actor(config),
        worker_(worker),
        link_(std::move(link)),
        coordinator_(std::move(owner)),
        variables_(std::move(variables)) {}

  caf::behavior make_behavior() override {
    // WorkerJoined is sent here and not by the caller of spawn_remote_worker(), so that WorkerLost, which on_exit()
    // sends, cannot overtake it.
    post(coordinator_, WorkerJoined{worker_, caf::actor_cast<caf::actor>(this)});
    link_->on_ready([address = address()] {
      if (const auto self = caf::actor_cast<caf::actor>(address)) post(self, Continue{});
    });
    return {[this](const CallOrdered& order) { send_call(order); }, [this](const Continue&) { receive(); },
            [this](const Stop&) { quit(); }};
  }

  void on_exit() override {
    link_->on_ready({});
    link_->close();
    post(coordinator_, WorkerLost{worker_});
    coordinator_ = nullptr;
  }

 private:
  void send_frame(CallFrame kind, std::int64_t number, const std::vector<std::byte>& payload) {
    if (!link_->send(call_frame(kind, number, payload))) quit();
  }

  /// Sends a call over the link. If the call cannot be encoded, posts the error to the coordinator as the result of the
  /// call.
  void send_call(const CallOrdered& order) {
    std::vector<std::byte> payload;
    try {
      payload = encode(*order.what);
    } catch (const std::exception& error) {
      return post(coordinator_, CallEnded{order.call, {{}, {}, error.what()}});
    }
    send_frame(CallFrame::call, order.call, payload);
  }

  /// Handles the frames that have arrived. Quits if the link has failed, if a frame is damaged, or if a frame is
  /// neither a result nor the read of a variable; on_exit() then reports the worker as lost.
  void receive() {
    const auto lose = [this](const auto&) { quit(); };
    receive_all(
        *link_, [this](const IncomingFrame& frame) { take(frame); }, lose);
  }

  void take(const IncomingFrame& frame) {
    const auto payload = frame.payload->tensor();
    const auto kind = static_cast<CallFrame>(frame.header.edge);
    if (kind == CallFrame::result)
      post(coordinator_, CallEnded{frame.header.step, decode_result(bytes_in(payload))});
    else if (kind == CallFrame::read)
      send_frame(CallFrame::value, frame.header.step, encoded_value(decode_call(bytes_in(payload)).function));
    else
      throw Error("coordinator", "a worker sent a frame of an unknown kind");
  }

  std::vector<std::byte> encoded_value(const std::string& name) const {
    try {
      return encode(VariableValue{variables_->read(name), {}});
    } catch (const std::exception& error) {
      return encode(VariableValue{{}, error.what()});
    }
  }

  int worker_;
  std::shared_ptr<Link> link_;
  caf::actor coordinator_;
  std::shared_ptr<const Variables> variables_;
};

class CallWorker final : public caf::event_based_actor {
 public:
  CallWorker(caf::actor_config& config, std::shared_ptr<const CallFunctions> functions, ReadVariable read,
             OnCallResult on_result)
      : caf::event_based_actor(config),
        functions_(std::move(functions)),
        read_(std::move(read)),
        on_result_(std::move(on_result)) {}

  caf::behavior make_behavior() override {
    return {[this](const CallOrdered& order) {
              on_result_(order.call, execute(*functions_, *order.what, order.call, read_));
            },
            [this](const Stop&) { quit(); }};
  }

 private:
  std::shared_ptr<const CallFunctions> functions_;
  ReadVariable read_;
  OnCallResult on_result_;
};

}  // namespace

caf::actor spawn_coordinator(caf::actor_system& system, int in_flight, std::shared_ptr<CallMonitor> monitor,
                             std::shared_ptr<Variables> variables) {
  return caf::actor_cast<caf::actor>(
      system.spawn<CoordinatorActor>(in_flight, std::move(monitor), std::move(variables)));
}

caf::actor spawn_remote_worker(caf::actor_system& system, int worker, std::shared_ptr<Link> link,
                               const caf::actor& coordinator, std::shared_ptr<const Variables> variables) {
  return caf::actor_cast<caf::actor>(
      system.spawn<RemoteWorker>(worker, std::move(link), coordinator, std::move(variables)));
}

caf::actor spawn_call_worker(caf::actor_system& system, bool own_thread, std::shared_ptr<const CallFunctions> functions,
                             ReadVariable read, OnCallResult on_result) {
  const SignalsBlocked blocked;
  return caf::actor_cast<caf::actor>(
      own_thread ? system.spawn<CallWorker, caf::detached>(std::move(functions), std::move(read), std::move(on_result))
                 : system.spawn<CallWorker>(std::move(functions), std::move(read), std::move(on_result)));
}

}  // namespace troupe
