#include <optional>

#include "troupe/actors/shard/replica_parameters.hpp"

namespace troupe {

namespace {

// Slots of the output of parameters. A slot holds a tensor until the worker returns it: one for the parameters that are
// sent, one for those of the worker's last batch.
constexpr std::int32_t kValueSlots = 2;

class LocalShard final : public ReplicaParameters {
 public:
  LocalShard(caf::actor_config& config, const ReplicaUpdate& update, std::int64_t steps)
      : ReplicaParameters(config, update), steps_per_round_(steps) {}

 private:
  static constexpr auto kBase = kFirstInput;
  static constexpr auto kRequest = kFirstOutput;
  static constexpr auto kChange = kFirstOutput + 1;

  void on_run(const RunInfo& run) override {
    ReplicaParameters::on_run(run);
    base_.reset();
    requested_ = false;
    round_ = first_step_ = first_rows_ = 0;
  }

  bool prepare_step() override {
    if (base_) return true;
    if (!requested_ && has_free(kRequest)) request_base();
    if (!has(kBase)) return false;
    base_ = take(kBase);
    if (base_->failure)
      fail_with(base_->failure);
    else
      replace(base_->tensor);
    return true;
  }

  void request_base() {
    const Tensor info(BatchInfo::info().shape, BatchInfo::info().dtype);
    BatchInfo{.step = round_}.write(info);
    send_output(kRequest, info, round_);
    requested_ = true;
  }

  bool exchange(std::int64_t step) override {
    const bool is_last = step + 1 - first_step_ == steps_per_round_ || steps_ended();
    if (!is_last) return has_next_step();
    if (!has_free(kChange)) return false;
    end_round();
    first_step_ = step + 1;
    return true;
  }

  void end_round() {
    if (failure())
      send_failure(kChange, failure(), round_);
    else
      send_output(kChange, change_since(base_->tensor, rows() - first_rows_), round_);
    give_back(kBase, *base_);
    base_.reset();
    requested_ = false;
    first_rows_ = rows();
    ++round_;
  }

  const std::int64_t steps_per_round_;
  std::optional<Arrival> base_;  // the parameters with which the round began; empty between rounds
  bool requested_ = false;       // the shared shard was asked for the parameters of the round
  std::int64_t round_ = 0;
  std::int64_t first_step_ = 0;  // first step of the round
  std::int64_t first_rows_ = 0;  // rows() when the round began
};

}  // namespace

ActorId add_local_shard(Plan& plan, const std::string& name, const Place& place, int worker, ReplicaUpdate update,
                        std::int64_t steps) {
  update.parameters_in_store = false;
  const ShardUpdate shape(update.update, update.parameters);
  auto ports =
      ReplicaParameters::ports(update, 0, {shape.parameter_block()}, {BatchInfo::info(), shape.gradient_block()});
  // The states are ahead of the common parameters until the end of a round.
  for (auto& state : ports.parameters) state.needs_whole_run = true;
  auto actor = external<LocalShard>(name, std::move(ports), update, steps);
  actor.place = place;
  actor.replica = worker;
  actor.task = {"local_shard", {}, {{"steps", steps}, {"update", identity_of_update(update.update)}}};
  const auto shard = plan.add(std::move(actor));
  plan.edge_of(shard, 0, kValueSlots);
  return shard;
}

}  // namespace troupe
