#pragma once

#include <string>
#include <vector>

#include "troupe/actors/shard/row_lookup.hpp"
#include "troupe/actors/shard/row_sums.hpp"
#include "troupe/actors/shard/shard.hpp"
#include "troupe/actors/shard/shard_update.hpp"

namespace troupe {

/// What a shard has of a parameter of which workers look up rows.
struct RowUpdate {
  RowLookup lookup;
  /// The update of `chunk` rows of the parameter, see ShardUpdate, and the parameter's name there. Every state has the
  /// shape of the parameter, and the update of a row depends on that row alone.
  Graph update;
  std::string parameter;
  /// For the update's parameter and states, in the order of ShardUpdate::stored(), which rows of what in the store.
  std::vector<HeldParameter> held;

  /// Of the parameter: those that the shard has.
  RowRange rows() const { return held.front().rows.value(); }
};

/// A shard of a parameter of which every worker needs the rows that it looks up, and makes gradients of those alone;
/// see RowLookup. Other rows keep their value and state. Further inputs: from each worker the indices.
class RowShard final : public Shard {
 public:
  RowShard(caf::actor_config& config, const ShardOptions& options, const RowUpdate& what);

  /// How many rows an update should have at once, so that it stays in a cache.
  static std::int64_t chunk_rows(const TensorInfo& parameter);

 private:
  /// What a worker looked up in its oldest turn.
  struct LookedUp {
    std::vector<std::int64_t> rows;     // of this shard, counted from its first
    std::vector<std::int32_t> lookups;  // by which of the model's lookups
    Tensor sent;                        // the rows as they were
  };

  void begin_run() override;
  bool can_answer(int worker) override { return has(indices_of(worker)); }
  void send_answer(int worker, std::int64_t step) override;
  void skip_answer(int worker) override;
  void combine(const std::vector<int>& from) override;
  void apply(std::int64_t number) override;
  void forget_answer(int worker) override { looked_up_[static_cast<std::size_t>(worker)] = {}; }
  void on_lost(int worker) override;

  std::uint32_t indices_of(int worker) const { return further_inputs() + static_cast<std::uint32_t>(worker); }
  void take_indices(int worker);
  void add_gradients(std::int32_t number, int worker, std::int64_t all_rows);
  void compensate(const LookedUp& then);
  void update_rows(std::size_t first, std::size_t count, std::int64_t number);
  const float* row_of_table(std::int64_t row) const;

  const RowUpdate what_;
  std::vector<std::int32_t> lookup_of_column_;  // of a batch row's indices
  ShardUpdate update_;
  std::vector<Tensor> chunk_;  // of the update's parameter and states
  std::size_t gradient_offset_;
  std::vector<LookedUp> looked_up_;  // by worker
  RowSums sums_;
  float verdict_ = 0.0F;
};

/// Adds such a shard to a plan; see add_shard() of Shard.
ActorId add_row_shard(Plan& plan, const std::string& name, const Place& place, const ShardOptions& options,
                      const RowUpdate& what, int followers);

}  // namespace troupe
