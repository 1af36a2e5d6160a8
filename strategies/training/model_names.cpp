#include "troupe/strategies/training/model_names.hpp"

#include <mutex>
#include <utility>

#include "troupe/actors/plan/plan.hpp"
#include "troupe/strategies/training/model_parameters.hpp"

namespace troupe {

struct ModelNames::State {
  std::mutex mutex;
  std::optional<std::vector<Field>> fields;
  std::set<std::string> set_by_user;
};

ModelNames::ModelNames() : state_(std::make_unique<State>()) {}
ModelNames::~ModelNames() = default;

void ModelNames::note(std::vector<Field> fields) {
  std::lock_guard lock(state_->mutex);
  state_->fields = std::move(fields);
}

std::optional<std::set<std::string>> ModelNames::of(const TrainingSpec& spec) const {
  std::unique_lock lock(state_->mutex);
  const auto fields = state_->fields;
  lock.unlock();
  if (!fields) return std::nullopt;
  std::set<std::string> names;
  for (const auto& parameter : model_parameters(spec, *fields)) names.insert(parameter.ref.name);
  return names;
}

void ModelNames::note_set(const std::set<std::string>& names) {
  std::lock_guard lock(state_->mutex);
  state_->set_by_user.insert(names.begin(), names.end());
}

std::set<std::string> ModelNames::set_by_user() const {
  std::lock_guard lock(state_->mutex);
  return state_->set_by_user;
}

}  // namespace troupe
