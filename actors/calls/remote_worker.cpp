#include "troupe/actors/calls/remote_worker.hpp"

#include <caf/event_based_actor.hpp>

#include "troupe/actors/caf/mail.hpp"
#include "troupe/actors/calls/call_frames.hpp"
#include "troupe/actors/calls/pending_call.hpp"
#include "troupe/actors/messages/messages.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

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
    // Sent by this actor, so that WorkerLost cannot overtake it.
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

  /// If the call cannot be encoded, that is its error.
  void send_call(const CallOrdered& order) {
    std::vector<std::byte> payload;
    try {
      payload = encode(OrderedCall{order.what->function, order.what->inputs});
    } catch (const std::exception& error) {
      post(coordinator_, CallEnded{order.call, {{}, {}, error.what()}});
      return;
    }
    send_frame(CallFrame::call, order.call, payload);
  }

  /// A worker that sends anything but results and reads is treated as lost.
  void receive() {
    try {
      while (auto frame = link_->receive()) take(*frame);
    } catch (const std::exception&) {
      return quit();
    }
    if (link_->failure()) quit();
  }

  void take(const IncomingFrame& frame) {
    const auto payload = frame.payload->tensor();
    const std::span bytes(payload.raw(), payload.bytes());
    if (frame.header.edge == static_cast<std::int32_t>(CallFrame::result))
      post(coordinator_, CallEnded{frame.header.step, decode_result(bytes)});
    else if (frame.header.edge != static_cast<std::int32_t>(CallFrame::read))
      throw Error("coordinator", "a worker sent a frame of an unknown kind");
    else
      send_frame(CallFrame::value, frame.header.step, encoded_value(decode_call(bytes).function));
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

}  // namespace

caf::actor spawn_remote_worker(caf::actor_system& system, int worker, std::shared_ptr<Link> link,
                               const caf::actor& coordinator, std::shared_ptr<const Variables> variables) {
  return caf::actor_cast<caf::actor>(
      system.spawn<RemoteWorker>(worker, std::move(link), coordinator, std::move(variables)));
}

}  // namespace troupe
