#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "troupe/actors/store/parameter_store.hpp"

namespace troupe {

/// The trainers of a ParameterStore: the names of those that exist, and the positions of all that have trained.
/// Thread-safe.
class TrainerPositions {
 public:
  TrainingPosition of(const std::string& trainer) const;
  void set(const std::string& trainer, const TrainingPosition& position);
  std::map<std::string, TrainingPosition> all() const;
  /// True if there is a trainer, or a position, of another name.
  bool has_other(const std::string& trainer) const;
  /// See ParameterStore::enter_trainer(). The result must not outlive this object.
  std::shared_ptr<const std::string> enter(const std::string& name);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, TrainingPosition> positions_;  // by trainer
  std::set<std::string> trainers_;                     // names of the trainers that are registered
  int unnamed_ = 0;                                    // number of trainers without a name that have been registered
};

}  // namespace troupe
