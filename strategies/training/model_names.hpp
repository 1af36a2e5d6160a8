#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "troupe/ops/data/field.hpp"
#include "troupe/strategies/step/training_graph.hpp"

namespace troupe {

/// The names of the parameters of a model, which are known once the model has been trained or evaluated. Thread-safe.
class ModelNames {
 public:
  ModelNames();
  ~ModelNames();

  /// Notes the fields of data on which the model is trained or evaluated.
  void note(std::vector<Field> fields);
  /// Returns the names in model_parameters() for the fields that were noted last; nothing if none were.
  std::optional<std::set<std::string>> of(const TrainingSpec& spec) const;
  /// Adds names under which the trainer's user has set values.
  void note_set(const std::set<std::string>& names);
  /// All names of note_set().
  std::set<std::string> set_by_user() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe
