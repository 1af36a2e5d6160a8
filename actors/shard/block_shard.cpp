#include "troupe/actors/shard/block_shard.hpp"

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/transport/rank_sum.hpp"

namespace troupe {

namespace {

// A block of gradients with fewer bytes is copied: that takes less time than binding the update's kernels to the block.
constexpr std::size_t kCopiedBytes = std::size_t{64} << 10;

class BlockShard final : public Shard {
 public:
  BlockShard(caf::actor_config& config, const ShardOptions& options, const BlockUpdate& block)
      : Shard(config, options),
        local_steps_(block.local_steps),
        update_(block.update, block.parameters),
        answers_(static_cast<std::size_t>(options.rule.workers)) {
    if (block.decode) decode_.emplace(*block.decode, 1);
  }

 private:
  void begin_run() override {
    if (!update_.is_bound()) {
      std::vector<Tensor> tensors;
      for (std::size_t i = 0; i < update_.stored().size(); ++i) tensors.push_back(parameter(i));
      update_.bind(tensors);
    }
    answers_.assign(answers_.size(), nullptr);
    blocks_.changed();
  }

  void send_answer(int worker, std::int64_t step) override {
    const auto output = static_cast<std::uint32_t>(worker);
    const auto& block = answers_[output] = blocks_.now(update_);
    blocks_.sent(output, send_output(output, *block, step), block);
  }

  void forget_answer(int worker) override { answers_[static_cast<std::size_t>(worker)] = nullptr; }
  void on_slot_free(std::uint32_t output, std::uint32_t slot) override { blocks_.freed(output, slot); }

  void combine(const std::vector<int>& from) override {
    if (is_applied_as_it_is(from))
      as_it_is_ = block_of(from.front());
    else
      sum(from);
  }

  void apply(std::int64_t number, std::int64_t rows) override {
    blocks_.changed();
    if (as_it_is_)
      update_.apply(as_it_is_, number, rows);
    else
      update_.apply(number, rows);
  }

  std::int64_t rows_of(int worker) override {
    return local_steps_ ? ShardUpdate::rows_of_change(gradients(worker)) : Shard::rows_of(worker);
  }

  void drop_combined() override {
    as_it_is_ = {};
    if (decode_) decode_->unbind(ShardUpdate::kSent);
  }

  /// The gradients of a worker as a block. If workers send encoded gradients, the block is valid until the next call of
  /// block_of() or drop_combined().
  Tensor block_of(int worker) {
    if (!decode_) return gradients(worker);
    decode_->bind(ShardUpdate::kSent, gradients(worker));
    decode_->run();
    return decode_->output(ShardUpdate::kBlock);
  }

  /// Whether the update is applied to the block of the only worker itself, without a copy: if the block has gradients
  /// of one step, needs neither scaling nor compensation, and is large enough for the copy to take longer than the
  /// binding.
  bool is_applied_as_it_is(const std::vector<int>& from) const {
    if (from.size() != 1 || rule().compensation > 0.0 || local_steps_) return false;
    const auto& applied = batch(from.front());
    return applied.rows == applied.global_rows && update_.gradients().bytes() >= kCopiedBytes;
  }

  /// Sets update_.gradients() to the gradient of the mean loss over the rows of all workers in `from`: a weighted sum
  /// of the workers' blocks. A worker has divided its block by the global rows of its batch, so the block is multiplied
  /// by these global rows and divided by the rows of all workers in `from`. A change from local steps is weighted by
  /// its share of the rows. Then corrects the sum by ConsistencyRule::compensation, if that is not 0.
  void sum(const std::vector<int>& from) {
    const auto global_rows_of = [&](int worker) { return local_steps_ ? rows_of(worker) : batch(worker).global_rows; };
    std::int64_t all = 0;
    for (const int worker : from) all += rows_of(worker);
    std::vector<Tensor> blocks;
    for (const int worker : from) {
      auto block = decode_ && from.size() > 1 ? block_of(worker).clone() : block_of(worker);
      if (const auto global = global_rows_of(worker); global != all && all > 0) {
        block = block.clone();
        const auto weight = static_cast<float>(global) / static_cast<float>(all);
        for (auto& element : block.mutable_data<float>()) element *= weight;
      }
      blocks.push_back(std::move(block));
    }
    if (blocks.empty()) blocks.emplace_back(update_.gradient_block().shape, DType::float32);
    rank_sum(blocks, 0, update_.gradients().elements(), update_.gradients().mutable_raw());
    if (rule().compensation > 0.0 && !from.empty())
      update_.compensate(*answers_[static_cast<std::size_t>(from.front())], static_cast<float>(rule().compensation));
  }

  const bool local_steps_;
  ShardUpdate update_;
  std::optional<Program> decode_;
  Tensor as_it_is_;  // if set: the worker's block that is applied in place of a sum
  ParameterBlocks blocks_;
  // By worker: the parameters that were sent last, from which the worker computes its next gradients.
  std::vector<ParameterBlocks::Block> answers_;
};

}  // namespace

ActorId add_block_shard(Plan& plan, const std::string& name, const Place& place, const ShardOptions& options,
                        const BlockUpdate& block, int followers) {
  const ShardUpdate update(block.update, block.parameters);
  const auto spawn = [block](caf::actor_system& system, ShardOptions with_records) {
    return caf::actor_cast<caf::actor>(system.spawn<BlockShard>(std::move(with_records), block));
  };
  ShardPorts ports{update.gradient_block(), update.parameter_block(), {}, block.held};
  PlanTask task{"shard", {}, {{"update", identity_of_update(block.update)}}};
  if (block.decode) {
    ports.gradients = block.decode->info(block.decode->sources(kInput).front());
    task.attributes = task.attributes.with("decode", identity_of_update(*block.decode));
  }
  return add_shard(plan, name, place, options, ports, followers, spawn, std::move(task));
}

}  // namespace troupe
