#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

/// The size of an epoch. If `rows` is kUnknown, the batches come from a user's actor, which decides when an epoch ends.
struct EpochRows {
  static constexpr std::int64_t kUnknown = -1;

  std::int64_t rows = 0;
  /// Rows of a training step.
  std::int64_t batch_rows = 1;
  std::int64_t layout = 0;  ///< ShardLayout::hash() of the data
  /// Returns the identity of the data; see TrainingPosition::data. Called only if a fit begins or ends within an epoch.
  std::function<std::int64_t()> identity = [] { return std::int64_t{0}; };
  std::int64_t steps_of_update = 1;                  ///< see Optimizer::accumulating()
  bool shares_steps = true;                          ///< see Strategy::shares_steps()
  bool decides_by_replica = false;                   ///< see Strategy::decides_by_replica()
  std::optional<std::int64_t> steps_per_update = 1;  ///< see Strategy::steps_per_update()
  /// Each process has samples of its own, so the row of a sample in its process is no row of the data set.
  bool has_own_samples = false;
  /// Returns the row of the data set that is row `row` of a replica's part of a batch, or InvalidSample::kUnknown.
  using SampleAt = std::function<std::int64_t(const TrainingPosition& batch, int replica, std::int64_t row)>;
  SampleAt sample_at = [](const TrainingPosition&, int, std::int64_t) { return InvalidSample::kUnknown; };
};

/// The position of a trainer in its store.
struct TrainingProgress {
  std::shared_ptr<ParameterStore> store;
  std::string trainer = ParameterStore::kTrainer;
  /// The stores in which actors train; stores[i] is that of process (or part) i, null if that is another process.
  Stores stores = {};

  TrainingPosition position() const { return store->position(trainer); }
  void set_position(const TrainingPosition& position) const { store->set_position(position, trainer); }
};

/// The position of a fit in its data, run by run. A run is a part of an epoch.
class EpochProgress {
 public:
  EpochProgress(TrainingProgress progress, EpochRows data)
      : progress_(std::move(progress)), data_(std::move(data)), position_(progress_.position()) {}

  /// Begins a run at the position in the store. An epoch that was stopped is resumed only if the data is the same;
  /// otherwise the next epoch begins.
  void begin_run();
  /// Moves to the step and the batch after `step`.
  void pass_step(std::int64_t step);
  /// Moves to the position after the first `steps` steps of the run.
  void set_steps(std::int64_t steps);
  /// Moves to step `step` of the run and its batch.
  void set_next_step(std::int64_t step) { set_steps(step - begin_.step); }
  /// Moves past a batch that is no step.
  void pass_batch() { ++position_.batch; }
  void begin_next_epoch();
  /// Stores the position, with the identity of the data if the epoch is not complete. If EpochRows::identity throws,
  /// passes on the exception; the position is stored without an identity then.
  void keep();

  const TrainingPosition& position() const { return position_; }
  /// The store of the position.
  const std::shared_ptr<ParameterStore>& store() const { return progress_.store; }
  /// The batches that the run has passed.
  std::int64_t batches_of_run() const { return position_.batch - begin_.batch; }
  /// Whether the data set decides when the epoch ends, not a user's actor.
  bool has_known_end() const { return data_.rows != EpochRows::kUnknown; }
  /// Whether all batches of the epoch are passed. Only if has_known_end().
  bool epoch_complete() const { return position_.batch * position_.batch_rows >= position_.rows; }
  /// The batches from the first one of the run to the end of the epoch. Only if has_known_end().
  std::int64_t batches_at_begin() const;
  /// The last steps whose gradients no update has used yet; see FitResult::accumulated_steps.
  std::int64_t accumulated_steps() const { return position_.step % data_.steps_of_update; }
  bool shares_steps() const { return data_.shares_steps; }
  bool decides_by_replica() const { return data_.decides_by_replica; }
  const std::optional<std::int64_t>& steps_per_update() const { return data_.steps_per_update; }
  bool has_own_samples() const { return data_.has_own_samples; }
  /// The row of the data set that is row `row` of a replica's part of the batch of step `step` of the run, or
  /// InvalidSample::kUnknown.
  std::int64_t sample_at(std::int64_t step, int replica, std::int64_t row) const;

 private:
  bool is_same_data() const;

  TrainingProgress progress_;
  EpochRows data_;
  TrainingPosition position_;
  TrainingPosition begin_;  // position at the start of the run
};

}  // namespace troupe
