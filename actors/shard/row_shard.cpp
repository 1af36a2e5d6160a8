#include "troupe/actors/shard/row_shard.hpp"

#include <algorithm>

#include "troupe/actors/shard/row_sums.hpp"
#include "troupe/actors/shard/shard_update.hpp"
#include "troupe/ops/core/backend.hpp"

namespace troupe {

namespace {

constexpr std::int64_t kChunkElements = 16'384;

class RowShard final : public Shard {
 public:
  RowShard(caf::actor_config& config, const ShardOptions& options, const RowUpdate& table)
      : Shard(config, options),
        table_(table),
        update_(table.update, {table.parameter}),
        looked_up_(static_cast<std::size_t>(options.rule.workers)),
        sums_(table.lookup.width()) {
    for (std::size_t i = 0; i < table.lookup.columns.size(); ++i)
      lookup_of_column_.insert(lookup_of_column_.end(), static_cast<std::size_t>(table.lookup.columns[i]),
                               static_cast<std::int32_t>(i));
    for (const auto& stored : update_.stored()) chunk_.emplace_back(stored.info.shape, stored.info.dtype);
    const std::vector<TensorInfo> block{{Shape{}, DType::float32}, {chunk_.front().shape(), DType::float32}};
    gradient_offset_ = static_cast<std::size_t>(pack_offsets(block)[1]);
    update_.bind(chunk_);
  }

 private:
  /// The rows that a worker looked up for its oldest request.
  struct LookedUp {
    std::vector<std::int64_t> rows;     // counted from the first row of this shard, in the order of the indices
    std::vector<std::int32_t> lookups;  // for each row, the position of its lookup in RowLookup::columns
    Tensor sent;                        // the tensor that the worker was sent, with the values of the rows
  };

  std::uint32_t indices_of(int worker) const { return further_inputs() + static_cast<std::uint32_t>(worker); }

  void begin_run() override { looked_up_.assign(looked_up_.size(), {}); }
  bool can_answer(int worker) override { return has(indices_of(worker)); }
  void forget_answer(int worker) override { looked_up_[static_cast<std::size_t>(worker)] = {}; }

  void skip_answer(int worker) override {
    auto arrival = take(indices_of(worker));
    give_back(indices_of(worker), arrival);
  }

  void on_lost(int worker) override {
    while (has(indices_of(worker))) skip_answer(worker);
  }

  void send_answer(int worker, std::int64_t step) override {
    auto failed = take_indices(worker);
    if (failure()) failed = failure();
    if (failed) return static_cast<void>(send_failure(static_cast<std::uint32_t>(worker), failed, step));
    auto& looked_up = looked_up_[static_cast<std::size_t>(worker)];
    const auto rows = static_cast<std::int64_t>(looked_up.rows.size());
    const auto& lookup = table_.lookup;
    looked_up.sent = Tensor(lookup.rows().shape.with_rows(lookup.filled_by(rows)), DType::float32);
    auto* to = looked_up.sent.mutable_data<float>().data();
    const auto width = lookup.width();
    for (const auto row : looked_up.rows) to = std::copy_n(row_of_table(row), width, to);
    std::fill(to, looked_up.sent.mutable_data<float>().data() + looked_up.sent.elements(), 0.0F);
    send_output(static_cast<std::uint32_t>(worker), looked_up.sent, step);
  }

  /// Takes the indices of the worker's next batch. Returns the failure that the worker gets in place of rows, or null.
  FailurePtr take_indices(int worker) {
    auto& looked_up = looked_up_[static_cast<std::size_t>(worker)];
    auto arrival = take(indices_of(worker));
    auto failed = arrival.failure;
    std::vector<std::int64_t> indices;
    try {
      if (!failed)
        indices = read_indices(arrival.tensor, table_.lookup.parameter.shape[0], table_.held.front().ref.name);
    } catch (...) {
      failed = failure_of(worker, arrival.step);
      report_failure(failed);
    }
    if (failed) worker_failed(failed);
    give_back(indices_of(worker), arrival);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const auto row = indices[i] - table_.rows().first;
      if (row < 0 || row >= table_.rows().count) continue;
      looked_up.rows.push_back(row);
      looked_up.lookups.push_back(lookup_of_column_[i % lookup_of_column_.size()]);
    }
    return failed;
  }

  const float* row_of_table(std::int64_t row) const {
    const auto& table = parameter(0);
    return table.data<float>().data() + row * table_.lookup.width();
  }

  void combine(const std::vector<int>& from) override {
    sums_.clear();
    magnitude_ = 0.0F;
    std::int64_t all_rows = 0;
    for (const int worker : from) all_rows += batch(worker).rows;
    for (std::size_t i = 0; i < from.size(); ++i) {
      add_gradients(static_cast<std::int32_t>(i), from[i], all_rows);
      magnitude_ += table_.lookup.magnitude(gradients(from[i]));
    }
    sums_.sum();
    if (rule().compensation > 0.0 && !from.empty()) compensate(looked_up_[static_cast<std::size_t>(from.front())]);
  }

  /// Adds the gradients of `worker`, the worker at position `number` of the update, to sums_. The weight makes the sum
  /// the gradient of the mean loss over the batch rows of all workers in the update: the worker has divided its
  /// gradients by the global rows of its batch.
  void add_gradients(std::int32_t number, int worker, std::int64_t all_rows) {
    const auto global_rows = batch(worker).global_rows;
    sums_.add_weight(all_rows > 0 ? static_cast<float>(global_rows) / static_cast<float>(all_rows) : 1.0F);
    const auto& looked_up = looked_up_[static_cast<std::size_t>(worker)];
    table_.lookup.expect_filled(gradients(worker), static_cast<std::int64_t>(looked_up.rows.size()), name_in_plan());
    const auto* const values = gradients(worker).data<float>().data();
    for (std::size_t i = 0; i < looked_up.rows.size(); ++i)
      sums_.add({looked_up.rows[i], number, looked_up.lookups[i],
                 values + table_.lookup.gradient_offset(static_cast<std::int64_t>(i))});
  }

  /// Corrects the sums by ConsistencyRule::compensation. `then` has the rows, and their values, that the first worker
  /// of the update was sent. The sums of other rows stay unchanged.
  void compensate(const LookedUp& then) {
    const auto factor = static_cast<float>(rule().compensation);
    const auto width = static_cast<std::size_t>(table_.lookup.width());
    std::vector<bool> compensated(sums_.rows().size());
    for (std::size_t place = 0; place < then.rows.size(); ++place) {
      const auto summed = std::ranges::lower_bound(sums_.rows(), then.rows[place]);
      const auto i = static_cast<std::size_t>(summed - sums_.rows().begin());
      if (compensated[i]) continue;
      compensated[i] = true;
      const auto* const old = then.sent.data<float>().data() + place * width;
      troupe::compensate(width, sums_.gradient(i), factor, row_of_table(then.rows[place]), old);
    }
  }

  /// Updates the rows of sums_, chunk by chunk. An update without rows runs once, because it counts as an update.
  void apply(std::int64_t number, std::int64_t batch_rows) override {
    const auto chunk = static_cast<std::size_t>(chunk_.front().shape()[0]);
    const auto rows = sums_.rows().size();
    std::size_t first = 0;
    do {
      // All chunks are parts of the same update, so each begins with the scalars from before the update.
      copy_scalars([](const Tensor& stored, const Tensor& in_chunk) { copy_and_wait(stored, in_chunk); });
      update_rows(first, std::min(chunk, rows - first), number, batch_rows);
      first += chunk;
    } while (first < rows);
    copy_scalars([](const Tensor& stored, const Tensor& in_chunk) { copy_and_wait(in_chunk, stored); });
  }

  /// Calls `copy` for each value of the update without rows, such as the number of updates: the stored value, and the
  /// one that the update's graph reads and writes.
  template <class Copy>
  void copy_scalars(Copy copy) {
    for (std::size_t i = 0; i < chunk_.size(); ++i)
      if (chunk_[i].shape().rank() == 0) copy(parameter(i), chunk_[i]);
  }

  /// Updates `count` of the rows of sums_, from position `first` on: copies them into chunk_, runs the update, and
  /// copies them back. The remaining rows of chunk_ get gradients of 0, and are not copied.
  void update_rows(std::size_t first, std::size_t count, std::int64_t number, std::int64_t batch_rows) {
    const auto width = static_cast<std::size_t>(table_.lookup.width());
    const auto for_each_row = [&](auto copy) {
      for (std::size_t stored = 0; stored < chunk_.size(); ++stored) {
        if (chunk_[stored].shape().rank() == 0) continue;
        auto* const rows = parameter(stored).mutable_data<float>().data();
        auto* const in_chunk = chunk_[stored].mutable_data<float>().data();
        for (std::size_t i = 0; i < count; ++i)
          copy(rows + static_cast<std::size_t>(sums_.rows()[first + i]) * width, in_chunk + i * width);
      }
    };
    for_each_row([width](const float* row, float* in_chunk) { std::copy_n(row, width, in_chunk); });
    const auto block = update_.gradients().mutable_data<float>();
    block[0] = magnitude_;
    auto* const gradients = block.data() + gradient_offset_;
    std::copy_n(sums_.gradient(first), count * width, gradients);
    std::fill(gradients + count * width, block.data() + block.size(), 0.0F);
    update_.apply(number, batch_rows);
    for_each_row([width](float* row, const float* in_chunk) { std::copy_n(in_chunk, width, row); });
  }

  const RowUpdate table_;
  // By position of an index in its batch row: the position of the index's lookup in RowLookup::columns.
  std::vector<std::int32_t> lookup_of_column_;
  ShardUpdate update_;
  // By position in ShardUpdate::stored(): the rows that one run of the update's graph reads and writes.
  std::vector<Tensor> chunk_;
  std::size_t gradient_offset_;
  std::vector<LookedUp> looked_up_;  // by worker
  RowSums sums_;
  float magnitude_ = 0.0F;  // sum of the magnitudes of the workers in the update; see magnitude_of()
};

}  // namespace

std::int64_t chunk_rows(const TensorInfo& parameter) {
  const auto row_elements = std::max<std::int64_t>(1, parameter.shape.row_elements());
  return std::min(std::max<std::int64_t>(1, kChunkElements / row_elements), parameter.shape[0]);
}

ActorId add_row_shard(Plan& plan, const std::string& name, const Place& place, const ShardOptions& options,
                      const RowUpdate& table, int followers) {
  const auto spawn = [table](caf::actor_system& system, ShardOptions with_records) {
    return caf::actor_cast<caf::actor>(system.spawn<RowShard>(std::move(with_records), table));
  };
  const std::vector<TensorInfo> indices(static_cast<std::size_t>(options.rule.workers), table.lookup.indices);
  const ShardPorts ports{table.lookup.gradients(), table.lookup.rows(), indices, table.held};
  PlanTask task{"row_shard", {}, {{"update", identity_of_update(table.update)}, {"columns", table.lookup.columns}}};
  return add_shard(plan, name, place, options, ports, followers, spawn, std::move(task));
}

}  // namespace troupe
