#pragma once

#include <caf/event_based_actor.hpp>
#include <functional>
#include <memory>

#include "troupe/actors/calls/remote_call.hpp"

namespace troupe {

/// Called with the result of a call that a worker has executed, on any thread.
using OnCallResult = std::function<void(std::int64_t call, CallResult result)>;

/// Executes calls (CallOrdered) one after the other, in their order.
class CallWorker final : public caf::event_based_actor {
 public:
  CallWorker(caf::actor_config& config, std::shared_ptr<const CallFunctions> functions, ReadVariable read,
             OnCallResult on_result);
  caf::behavior make_behavior() override;

 private:
  std::shared_ptr<const CallFunctions> functions_;
  ReadVariable read_;
  OnCallResult on_result_;
};

}  // namespace troupe
