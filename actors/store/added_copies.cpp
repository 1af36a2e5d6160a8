// The copies of parameters that plans add to a store: their memory and their first values.

#include <utility>

#include "troupe/actors/store/parameter_store_state.hpp"
#include "troupe/ops/core/backend.hpp"
#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/name.hpp"

namespace troupe {

namespace {

Tensor memory_for(const PlanParameter& planned) {
  try {
    return Tensor(planned.info.shape, planned.info.dtype, planned.device);
  } catch (const Error& error) {
    throw Error("store", "parameter '" + planned.ref.name + "': " + error.what());
  }
}

}  // namespace

void ParameterStore::add(const PlanParameter& planned) {
  std::unique_lock lock(state_->mutex);
  if (state_->has_copy(planned)) return;
  const State::Visit visit(*state_, lock, {planned.ref.name});
  state_->drop_misfit_state(planned);
  const auto& [name, replica] = planned.ref;
  expect_name("store", "a parameter", name, kMaxMadeNameBytes);
  const auto entry = state_->parameters.find(name);
  Parameter fresh{planned.info, planned.trainable, {}};
  if (planned.per_replica) fresh.per_replica = planned.initializer;
  const auto& parameter = entry != state_->parameters.end() ? entry->second : fresh;
  if (!(parameter.info == planned.info))
    throw Error("store",
                "parameter '" + name + "' is " + to_string(parameter.info) + ", not " + to_string(planned.info));
  if (parameter.copies.contains(replica)) return state_->move(planned);
  for (const auto& [other, copy] : parameter.copies) state_->check_free({name, other}, false);
  const auto newest = state_->newest(parameter);
  if (entry != state_->parameters.end() && !newest) throw Error("store", state_->describe_broken());
  if (planned.trainable) state_->note_trained(name);
  Copy copy;
  copy.tensor = state_->first_value(planned, parameter);
  if (newest) {
    copy.counter->reset(newest->updates);
    copy.lineage = state_->newest_whole(parameter)->lineage;
  }
  if (const auto start = state_->start_value(name)) copy.counter->reset(start->updates);
  state_->start_values.erase(name);
  state_->parameters.try_emplace(name, std::move(fresh)).first->second.copies.emplace(replica, std::move(copy));
}

bool ParameterStore::State::has_copy(const PlanParameter& planned) const {
  const auto entry = parameters.find(planned.ref.name);
  if (entry == parameters.end() || !(entry->second.info == planned.info)) return false;
  const auto copy = entry->second.copies.find(planned.ref.replica);
  if (copy == entry->second.copies.end()) return false;
  const auto device = copy->second.tensor.device();
  return device == planned.device || (is_host(device) && is_host(planned.device));
}

void ParameterStore::State::drop_misfit_state(const PlanParameter& planned) {
  const auto entry = parameters.find(planned.ref.name);
  if (entry == parameters.end() || !planned.per_replica || !entry->second.per_replica ||
      entry->second.info == planned.info)
    return;
  for (const auto& [replica, copy] : entry->second.copies) check_free({planned.ref.name, replica}, true);
  parameters.erase(entry);
}

Tensor ParameterStore::State::first_value(const PlanParameter& planned, const Parameter& parameter) {
  auto tensor = memory_for(planned);
  if (const auto newest = this->newest(parameter)) {
    copy_and_wait(newest->value, tensor);
  } else if (const auto start = start_value(planned.ref.name)) {
    const auto& value = start->value;
    if (!(value.shape() == planned.info.shape) || value.dtype() != planned.info.dtype)
      throw Error("store", "parameter '" + planned.ref.name + "' is " + to_string(planned.info) + ", but was set to " +
                               to_string(value));
    copy_and_wait(value, tensor);
  } else {
    const auto value = tensor.host_accessible() ? tensor : Tensor(planned.info.shape, planned.info.dtype);
    fill(value, planned.ref.name, planned.initializer);
    if (!value.same_as(tensor)) copy_and_wait(value, tensor);
  }
  return tensor;
}

void ParameterStore::State::move(const PlanParameter& planned) {
  auto& copy = find(planned.ref);
  if (has_copy(planned)) return;
  check_free(planned.ref, true);
  const auto moved = memory_for(planned);
  copy_and_wait(copy.tensor, moved);
  copy.tensor = moved;
  ++changes;
}

}  // namespace troupe
