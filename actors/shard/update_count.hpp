#pragma once

#include <cstdint>
#include <string>

#include "troupe/ops/core/tensor.hpp"

namespace troupe {

class ParameterStore;

/// The number of updates that the shards of a trainer have made, for updates that are not made of one step each. It is
/// a state of the trainer in the parameter store, of which each shard has a copy. A trainer notes the step at which its
/// last run on shards has ended: if the next run on shards begins at another step, because the trainer has trained by
/// another strategy or its position was set, the run ignores the count.
struct UpdateCount {
  /// Names of the state for shards that get gradients, and for those that get the changes of several local steps.
  static constexpr const char *kOfGradients = "shards/updates", *kOfChanges = "shards/rounds";

  std::int64_t updates = 0;
  std::int64_t step = 0;

  /// Returns the name of the state `kind` of a trainer, whose TrainingSpec::trainer may be empty.
  static std::string name_of(const char* kind, const std::string& trainer) {
    return kind + (trainer.empty() ? std::string() : "@" + trainer);
  }
  /// Whether a parameter is such a state.
  static bool is_name(const std::string& parameter);

  /// The form of the state. It is float32, as all states are: two elements hold a number that one may not hold exactly.
  static TensorInfo info() { return {Shape{4}, DType::float32}; }
  static UpdateCount read(const Tensor& state);
  void write(const Tensor& state) const;

  /// Writes `step` into the state `name` of a store, if the store has the state and no run uses it. If all copies are
  /// broken, sets a state that the next run ignores.
  static void note_step(ParameterStore& store, const std::string& name, std::int64_t step);
};

}  // namespace troupe
