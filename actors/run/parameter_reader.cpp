#include "troupe/actors/run/parameter_reader.hpp"

namespace troupe {

ParameterReader::ParameterReader(std::shared_ptr<ParameterStore> store, std::vector<ParameterRef> refs)
    : store_(std::move(store)), refs_(std::move(refs)), tensors_(refs_.size()) {
  std::lock_guard lock(store_->mutex_);
  for (const auto& ref : refs_) copies_.push_back(&store_->find(ref));
}

void ParameterReader::enter() {
  std::lock_guard lock(store_->mutex_);
  // Whoever writes counts as a change, so without one nobody writes now.
  if (seen_changes_ != store_->changes_) {
    for (const auto& ref : refs_) {
      store_->check_free(ref, false);
      store_->check_whole(ref);
    }
    for (const auto& ref : refs_) store_->refresh(ref);
    for (std::size_t i = 0; i < copies_.size(); ++i) tensors_[i] = copies_[i]->tensor;
    seen_changes_ = store_->changes_;
    ++version_;
  }
  for (auto* copy : copies_) ++copy->accesses;
}

void ParameterReader::leave() {
  {
    std::lock_guard lock(store_->mutex_);
    for (auto* copy : copies_) --copy->accesses;
  }
  store_->access_over_.notify_all();
}

}  // namespace troupe
