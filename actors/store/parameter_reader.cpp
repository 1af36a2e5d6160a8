#include "troupe/actors/store/parameter_reader.hpp"

#include "troupe/actors/store/parameter_store_state.hpp"

namespace troupe {

ParameterReader::ParameterReader(std::shared_ptr<ParameterStore> store, std::vector<ParameterRef> refs)
    : store_(std::move(store)), refs_(std::move(refs)), tensors_(refs_.size()) {
  std::lock_guard lock(store_->state_->mutex);
  for (const auto& ref : refs_) copies_.push_back(&store_->state_->find(ref));
}

ParameterReader::Access ParameterReader::access() {
  std::lock_guard lock(store_->state_->mutex);
  // The begin of a write is a change, so without a change there is no writer.
  if (seen_changes_ != store_->state_->changes) {
    for (const auto& ref : refs_) {
      store_->state_->check_free(ref, false);
      store_->state_->check_whole(ref);
    }
    for (const auto& ref : refs_) store_->state_->refresh(ref);
    for (std::size_t i = 0; i < copies_.size(); ++i) tensors_[i] = copies_[i]->tensor;
    seen_changes_ = store_->state_->changes;
    ++version_;
  }
  for (auto* copy : copies_) ++copy->accesses;
  return {this, [](ParameterReader* reader) { reader->leave(); }};
}

void ParameterReader::leave() {
  {
    std::lock_guard lock(store_->state_->mutex);
    for (auto* copy : copies_) --copy->accesses;
  }
  store_->state_->access_over.notify_all();
}

}  // namespace troupe
