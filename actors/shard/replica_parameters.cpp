#include "troupe/actors/shard/replica_parameters.hpp"

namespace troupe {

ExternalPorts ReplicaParameters::ports(const ReplicaUpdate& update, int copy,
                                       const std::vector<TensorInfo>& further_inputs,
                                       const std::vector<TensorInfo>& further_outputs) {
  const ShardUpdate shape(update.update, update.parameters);
  ExternalPorts ports{.pacing = Pacing::follows, .rule = FiringRule::own};
  ports.inputs = {BatchInfo::info(), shape.gradient_block()};
  ports.inputs.insert(ports.inputs.end(), further_inputs.begin(), further_inputs.end());
  ports.outputs = {shape.parameter_block()};
  ports.outputs.insert(ports.outputs.end(), further_outputs.begin(), further_outputs.end());
  for (const auto& stored : shape.stored())
    if (update.parameters_in_store || !stored.travels) ports.parameters.push_back({{stored.name, copy}, true});
  return ports;
}

TensorInfo ReplicaParameters::block_info(const ReplicaUpdate& update) {
  return ShardUpdate(update.update, update.parameters).parameter_block();
}

ReplicaParameters::ReplicaParameters(caf::actor_config& config, const ReplicaUpdate& update)
    : PortActor(config), parameters_in_store_(update.parameters_in_store), update_(update.update, update.parameters) {}

void ReplicaParameters::on_run(const RunInfo&) {
  if (!update_.is_bound()) update_.bind(memory());
  blocks_.changed();
  requests_.clear();
  answered_ = exchanging_ = false;
  steps_ = rows_ = 0;
  failure_ = nullptr;
}

/// The tensors that the update works on, in the order of ShardUpdate::stored(): those of the parameter store, and new
/// ones for parameters that do not lie in the store.
std::vector<Tensor> ReplicaParameters::memory() const {
  std::vector<Tensor> tensors;
  std::size_t held = 0;
  for (const auto& stored : update_.stored()) {
    const bool in_store = parameters_in_store_ || !stored.travels;
    tensors.push_back(in_store ? parameter(held++) : Tensor(stored.info.shape, stored.info.dtype));
  }
  return tensors;
}

void ReplicaParameters::advance() {
  take_infos();
  do {
    if (exchanging_ && !exchange(steps_ - 1)) return;
    exchanging_ = false;
  } while (take_gradients() || answer());
  if (steps_ended() && !exchanging_) end();
}

void ReplicaParameters::take_infos() {
  while (has(kInfo)) {
    auto arrival = take(kInfo);
    requests_.push_back(arrival.failure ? BatchInfo{.step = arrival.step} : BatchInfo::read(arrival.tensor));
    give_back(kInfo, arrival);
  }
}

bool ReplicaParameters::take_gradients() {
  if (!answered_ || !has(kGradients)) return false;
  auto arrival = take(kGradients);
  auto& batch = requests_.front();
  if (arrival.failure) batch.rows = 0;
  if (!failure_) apply(arrival.tensor, batch);
  give_back(kGradients, arrival);
  requests_.pop_front();
  answered_ = false;
  exchanging_ = true;
  ++steps_;
  return true;
}

/// Updates the parameters. A batch without rows, or one whose gradients are a failure, changes no value, but counts as
/// an update of parameters in the store, so that the copies of all replicas have the same number of updates. If
/// gradients of several steps are accumulated, the batch may begin or end an update, so its update is made, too.
void ReplicaParameters::apply(const Tensor& gradients, const BatchInfo& batch) {
  const bool changes = batch.rows > 0 || update_.accumulates();
  if (!changes && !parameters_in_store_) return;
  update_parameters([&] {
    if (!changes) return;
    const auto& block = update_.gradient_block();
    update_.take_part(gradients ? gradients : Tensor(block.shape, block.dtype), batch.rows, batch.global_rows);
    update_.apply(batch.step, batch.rows);
    rows_ += update_.rows_of_change(batch.step, batch.rows);
  });
  blocks_.changed();
}

bool ReplicaParameters::answer() {
  if (requests_.empty() || answered_ || !prepare_step() || !has_free(kParameters)) return false;
  answered_ = true;
  const auto step = requests_.front().step;
  if (failure_) {
    send_failure(kParameters, failure_, step);
    return true;
  }
  const auto now = blocks_.now(update_);
  blocks_.sent(kParameters, send_output(kParameters, *now, step), now);
  return true;
}

Tensor ReplicaParameters::block() {
  Tensor copy(update_.parameter_block().shape, DType::float32);
  update_.pack(copy);
  return copy;
}

void ReplicaParameters::move_towards(const Tensor& block, float share) {
  amend_parameters([&] { update_.move_towards(block, share); });
  blocks_.changed();
}

void ReplicaParameters::replace(const Tensor& block) {
  amend_parameters([&] { update_.unpack(block); });
  blocks_.changed();
}

}  // namespace troupe
