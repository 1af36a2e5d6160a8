#pragma once

#include <string>
#include <vector>

#include "troupe/actors/shard/row_lookup.hpp"
#include "troupe/actors/shard/row_sums.hpp"
#include "troupe/actors/shard/shard.hpp"
#include "troupe/actors/shard/shard_update.hpp"

namespace troupe {

/// The rows of a parameter that a RowShard has, and their update.
struct RowUpdate {
  RowLookup lookup;
  /// The update of `chunk` rows of the parameter; see ShardUpdate. Every state has the shape of the parameter, and the
  /// update of a row depends on that row alone.
  Graph update;
  /// The parameter's name in the update.
  std::string parameter;
  /// The rows in the store of the update's parameter and states, in the order of ShardUpdate::stored().
  std::vector<HeldParameter> held;

  /// The rows of the parameter that the shard has.
  RowRange rows() const { return held.front().rows.value(); }
};

/// A shard of a parameter of which workers look up rows; see RowLookup. A worker gets the rows that it looks up, and
/// sends gradients of these. Rows without a gradient keep their value and state. Further inputs: the indices, from each
/// worker.
class RowShard final : public Shard {
 public:
  RowShard(caf::actor_config& config, const ShardOptions& options, const RowUpdate& table);

  /// The rows that one update takes, few enough to stay in a cache.
  static std::int64_t chunk_rows(const TensorInfo& parameter);

 private:
  /// The rows that a worker looked up for its oldest request.
  struct LookedUp {
    std::vector<std::int64_t> rows;     // counted from the first row of this shard
    std::vector<std::int32_t> lookups;  // for each row, the number of the model's lookup
    Tensor sent;                        // the values that were sent
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

  const RowUpdate table_;
  std::vector<std::int32_t> lookup_of_column_;  // by index of a batch row: the number of the lookup
  ShardUpdate update_;
  std::vector<Tensor> chunk_;  // the rows that one update takes, of the parameter and the states
  std::size_t gradient_offset_;
  std::vector<LookedUp> looked_up_;  // by worker
  RowSums sums_;
  float loss_is_finite_ = 0.0F;  // 0, or negative
};

/// Adds a RowShard to a plan; see add_shard().
ActorId add_row_shard(Plan& plan, const std::string& name, const Place& place, const ShardOptions& options,
                      const RowUpdate& table, int followers);

}  // namespace troupe
