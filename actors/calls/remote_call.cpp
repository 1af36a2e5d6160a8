#include "troupe/actors/calls/remote_call.hpp"

#include "troupe/ops/core/error.hpp"

namespace troupe {

void Variables::create(const std::string& name, const Tensor& value) {
  if (!value || value.dtype() != DType::float32)
    throw Error("variables", "'" + name + "' must be float32" + (value ? ", not " + to_string(value) : ""));
  std::lock_guard lock(mutex_);
  if (!variables_.try_emplace(name, Variable{value.host_accessible() ? value.clone() : value.copy_to_host()}).second)
    throw Error("variables", "there is a variable '" + name + "' already");
}

const Variables::Variable& Variables::find(const std::string& name) const {
  const auto entry = variables_.find(name);
  if (entry != variables_.end()) return entry->second;
  std::string names;
  for (const auto& [other, variable] : variables_) names += (names.empty() ? "; there are '" : ", '") + other + "'";
  throw Error("variables", "there is no variable '" + name + "'" + names);
}

Tensor Variables::read(const std::string& name) const {
  std::lock_guard lock(mutex_);
  return find(name).value.clone();
}

void Variables::check(const VariableUpdate& update) const {
  const auto& value = find(update.name).value;
  if (!update.delta || !(update.delta.shape() == value.shape()) || update.delta.dtype() != value.dtype())
    throw Error("variables", "'" + update.name + "' is " + to_string(value) + ", so " +
                                 (update.delta ? to_string(update.delta) : "nothing") + " cannot be added to it");
}

void Variables::add(const std::vector<VariableUpdate>& updates) {
  std::lock_guard lock(mutex_);
  for (const auto& update : updates) check(update);
  for (const auto& [name, delta] : updates) {
    auto& [value, count] = variables_.at(name);
    const auto to = value.mutable_data<float>();
    const auto from = delta.data<float>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
    ++count;
  }
}

std::int64_t Variables::updates_of(const std::string& name) const {
  std::lock_guard lock(mutex_);
  return find(name).updates;
}

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
