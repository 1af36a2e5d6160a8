#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "troupe/actors/store/parameter_store.hpp"
#include "troupe/strategies/step/data_position.hpp"

namespace troupe {

/// A parameter, a buffer or a state of an optimizer, with its number of updates.
struct CheckpointValue {
  std::string name;
  std::int64_t updates = 0;
  Tensor value;
};

/// The values of a store and the positions of its trainers: what a training needs to go on with the same bits, except
/// for states that every replica has for itself, such as those of gradient hooks.
struct Checkpoint {
  /// The number of steps of the trainer that has made the most.
  std::int64_t step = 0;
  std::map<std::string, TrainingPosition> positions = {};  ///< by trainer
  std::vector<CheckpointValue> values = {};                ///< by ascending name
  std::map<std::string, std::string> texts = {};           ///< the texts of the user, by name
  /// The positions of sources of batches, by the names of their actors; see BatchSource::positions.
  std::map<std::string, DataPosition> data = {};
};

/// Returns a checkpoint of a store. Waits for a step boundary of the fits that train its parameters, and throws Error,
/// like ParameterStore::snapshot().
Checkpoint checkpoint_of(const ParameterStore& store, std::map<std::string, std::string> texts = {});

/// Sets the values and the positions of a store to those of a checkpoint; others stay as they are. Values of parameters
/// that no plan has yet become start values. Sets none if it throws Error because a value has another shape or dtype
/// than in the store, or because a run uses it.
void restore(const Checkpoint& checkpoint, ParameterStore& store);

}  // namespace troupe
