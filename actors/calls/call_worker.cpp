#include "troupe/actors/calls/call_worker.hpp"

#include "troupe/actors/calls/pending_call.hpp"
#include "troupe/actors/messages/messages.hpp"

namespace troupe {

CallWorker::CallWorker(caf::actor_config& config, std::shared_ptr<const CallFunctions> functions, ReadVariable read,
                       OnCallResult on_result)
    : caf::event_based_actor(config),
      functions_(std::move(functions)),
      read_(std::move(read)),
      on_result_(std::move(on_result)) {}

caf::behavior CallWorker::make_behavior() {
  return {[this](const CallOrdered& order) {
            on_result_(order.call, execute(*functions_, order.what->function, order.call, order.what->inputs, read_));
          },
          [this](const Stop&) { quit(); }};
}

}  // namespace troupe
