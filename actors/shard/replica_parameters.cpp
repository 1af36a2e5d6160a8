#include "troupe/actors/shard/replica_parameters.hpp"

#include "troupe/ops/core/batch_info.hpp"

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
  for (const auto& stored : shape.stored()) ports.parameters.push_back({{stored.name, copy}, true});
  return ports;
}

TensorInfo ReplicaParameters::block_info(const ReplicaUpdate& update) {
  return ShardUpdate(update.update, update.parameters).parameter_block();
}

ReplicaParameters::ReplicaParameters(caf::actor_config& config, const ReplicaUpdate& update)
    : PortActor(config), update_(update.update, update.parameters) {}

void ReplicaParameters::on_run(const RunInfo&) {
  if (!update_.is_bound()) {
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < update_.stored().size(); ++i) tensors.push_back(parameter(i));
    update_.bind(tensors);
  }
  blocks_.changed();
  turns_.clear();
  answered_ = exchanging_ = false;
  steps_ = 0;
  failure_ = nullptr;
}

void ReplicaParameters::advance() {
  take_infos();
  do {
    if (exchanging_ && !exchange(steps_ - 1)) return;
    exchanging_ = false;
  } while (take_gradients() || answer());
  if (ended(kInfo) && turns_.empty() && !exchanging_) end();
}

void ReplicaParameters::take_infos() {
  while (has(kInfo)) {
    auto arrival = take(kInfo);
    if (arrival.failure) {
      failure_ = arrival.failure;
      turns_.push_back({arrival.step, 0, 0});
    } else {
      const auto batch = BatchInfo::read(arrival.tensor);
      turns_.push_back({batch.step, batch.rows, batch.global_rows});
    }
    give_back(kInfo, arrival);
  }
}

bool ReplicaParameters::take_gradients() {
  if (!answered_ || !has(kGradients)) return false;
  auto arrival = take(kGradients);
  if (arrival.failure) failure_ = arrival.failure;
  if (!failure_) apply(arrival.tensor, turns_.front());
  give_back(kGradients, arrival);
  turns_.pop_front();
  answered_ = false;
  exchanging_ = true;
  ++steps_;
  return true;
}

void ReplicaParameters::apply(const Tensor& gradients, const Turn& turn) {
  update_parameters([&] {
    if (turn.rows == 0) return;
    update_.take_part(gradients, turn.rows, turn.global_rows);
    update_.apply(turn.step);
  });
  blocks_.changed();
}

bool ReplicaParameters::answer() {
  if (turns_.empty() || answered_ || exchanging_ || !has_free(kParameters)) return false;
  answered_ = true;
  const auto step = turns_.front().step;
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

}  // namespace troupe
