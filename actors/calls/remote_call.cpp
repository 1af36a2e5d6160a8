#include "troupe/actors/calls/remote_call.hpp"

#include "troupe/ops/core/error.hpp"

namespace troupe {

const Tensor& RemoteCall::input(std::size_t i) const {
  if (i >= inputs_.size())
    throw Error("coordinator",
                "a call with " + std::to_string(inputs_.size()) + " inputs has no input " + std::to_string(i));
  return inputs_[i];
}

void RemoteCall::add(const std::string& name, const Tensor& delta) {
  updates_.push_back({name, !delta || delta.host_accessible() ? delta : delta.copy_to_host()});
}

CallResult execute(const CallFunctions& functions, const OrderedCall& ordered, std::int64_t token,
                   const ReadVariable& read) {
  try {
    const auto& function = ordered.function;
    const auto entry = functions.find(function);
    if (entry == functions.end()) throw Error("coordinator", "a worker has no function '" + function + "'");
    RemoteCall call(token, ordered.inputs, read);
    auto outputs = entry->second(call);
    for (const auto& output : outputs)
      if (!output) throw Error("coordinator", "'" + function + "' gave no tensor");
    return {std::move(outputs), call.updates(), {}};
  } catch (const std::exception& error) {
    return {{}, {}, *error.what() != '\0' ? error.what() : "an exception without a text"};
  } catch (...) {
    return {{}, {}, "an exception of an unknown type"};
  }
}

}  // namespace troupe
