#include "troupe/actors/shard/local_shard.hpp"

#include <algorithm>

#include "troupe/actors/shard/update_identity.hpp"
#include "troupe/ops/core/batch_info.hpp"

namespace troupe {

namespace {

// The worker may still hold the values of its last batch.
constexpr std::int32_t kValueSlots = 2;

}  // namespace

LocalShard::LocalShard(caf::actor_config& config, const LocalShardOptions& options)
    : PortActor(config), options_(options), update_(options.update, options.parameters) {}

void LocalShard::on_run(const RunInfo&) {
  if (!update_.is_bound()) {
    std::vector<Tensor> tensors;
    std::size_t held = 0;
    for (const auto& stored : update_.stored())
      tensors.push_back(stored.travels ? Tensor(stored.info.shape, stored.info.dtype) : parameter(held++));
    update_.bind(tensors);
  }
  turns_.clear();
  base_ = {};
  answered_ = asked_ = has_base_ = false;
  round_ = steps_ = rows_ = 0;
  failure_ = nullptr;
}

void LocalShard::advance() {
  take_batches();
  take_base();
  while (take_gradients() || end_round() || answer()) {
  }
  if (ended(kInfo) && turns_.empty() && !has_base_) end();
}

void LocalShard::take_batches() {
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
  if (turns_.empty() || asked_ || !has_free(kQuestion)) return;
  const Tensor question(BatchInfo::info().shape, BatchInfo::info().dtype);
  BatchInfo{0, 0, 0, round_}.write(question);
  send_output(kQuestion, question, round_);
  asked_ = true;
}

void LocalShard::take_base() {
  if (has_base_ || !has(kBase)) return;
  base_ = take(kBase);
  has_base_ = true;
  blocks_.changed();
  if (base_.failure)
    failure_ = base_.failure;
  else
    update_.unpack(base_.tensor);
}

bool LocalShard::take_gradients() {
  if (!answered_ || !has(kGradients)) return false;
  auto arrival = take(kGradients);
  if (arrival.failure) failure_ = arrival.failure;
  if (!failure_) apply(arrival.tensor, turns_.front());
  give_back(kGradients, arrival);
  ++steps_;
  rows_ += turns_.front().rows;
  turns_.pop_front();
  answered_ = false;
  return true;
}

void LocalShard::apply(const Tensor& gradients, const Turn& turn) {
  if (turn.rows == 0) return;
  update_.take_part(gradients, turn.rows, turn.global_rows);
  update_parameters([&] { update_.apply(turn.step); });
  blocks_.changed();
}

bool LocalShard::end_round() {
  const bool last = turns_.empty() && ended(kInfo);
  if (!has_base_ || steps_ == 0 || (steps_ < options_.steps && !last) || !has_free(kChange)) return false;
  if (failure_)
    send_failure(kChange, failure_, round_);
  else
    send_output(kChange, update_.change_since(base_.tensor, rows_), round_);
  give_back(kBase, base_);
  base_ = {};
  has_base_ = asked_ = false;
  steps_ = rows_ = 0;
  ++round_;
  take_batches();
  return true;
}

bool LocalShard::answer() {
  if (turns_.empty() || answered_ || !has_base_ || steps_ == options_.steps || !has_free(kParameters)) return false;
  answered_ = true;
  if (failure_) {
    send_failure(kParameters, failure_, turns_.front().step);
    return true;
  }
  const auto block = blocks_.now(update_);
  blocks_.sent(kParameters, send_output(kParameters, *block, turns_.front().step), block);
  return true;
}

ActorId add_local_shard(Plan& plan, const std::string& name, const Place& place, int worker,
                        const LocalShardOptions& options) {
  const ShardUpdate update(options.update, options.parameters);
  ExternalPorts ports{.pacing = Pacing::follows, .rule = FiringRule::own};
  ports.inputs = {BatchInfo::info(), update.gradient_block(), update.parameter_block()};
  ports.outputs = {update.parameter_block(), BatchInfo::info(), update.gradient_block()};
  for (const auto& stored : update.stored())
    if (!stored.travels) ports.parameters.push_back({{stored.name, 0}, true});
  auto actor = external<LocalShard>(name, std::move(ports), options);
  actor.place = place;
  actor.replica = worker;
  actor.task = {"local_shard", {}, {{"steps", options.steps}, {"update", identity_of_update(options.update)}}};
  const auto shard = plan.add(std::move(actor));
  plan.edge_of(shard, 0, kValueSlots);
  return shard;
}

}  // namespace troupe
