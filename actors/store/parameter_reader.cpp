#include "troupe/actors/store/parameter_reader.hpp"

#include <utility>

#include "troupe/actors/store/parameter_store_state.hpp"

namespace troupe {

ParameterReader::ParameterReader(std::shared_ptr<ParameterStore> store, std::vector<ParameterRef> refs,
                                 std::chrono::milliseconds refresh)
    : store_(std::move(store)), refs_(std::move(refs)), refresh_(refresh), tensors_(refs_.size()) {
  std::lock_guard lock(store_->state_->mutex);
  for (const auto& ref : refs_) copies_.push_back(&store_->state_->find(ref));
}

ParameterReader::Access ParameterReader::access() {
  auto& state = *store_->state_;
  std::unique_lock lock(state.mutex);
  state.wait_for_writers(lock);
  const auto before = std::exchange(published_, state.await_version(lock, refs_));
  if (!published_ && await_current_copies(lock)) published_ = state.await_version(lock, refs_);
  if (published_) {
    if (std::chrono::steady_clock::now() - published_->at > refresh_) state.request_version(lock, refs_);
    if (published_ != before) read_published();
    return {this, [](ParameterReader*) {}};
  }
  // borrow() increments `changes` when it lends copies to a writer. If `changes` is unchanged, no run writes to the
  // copies.
  if (seen_changes_ != state.changes) {
    for (const auto& ref : refs_) {
      for (const auto& [replica, copy] : state.parameters.at(ref.name).copies)
        state.check_free({ref.name, replica}, false);
      state.check_whole(ref);
    }
    for (const auto& ref : refs_) state.refresh(ref);
    for (std::size_t i = 0; i < copies_.size(); ++i) tensors_[i] = copies_[i]->tensor;
    seen_changes_ = state.changes;
    ++version_;
  }
  for (auto* copy : copies_) ++copy->accesses;
  return {this, [](ParameterReader* reader) { reader->leave(); }};
}

/// Waits until no other reader reads the copies that are behind the newest ones, which this reader then refreshes.
/// Returns whether it has waited.
bool ParameterReader::await_current_copies(std::unique_lock<std::mutex>& lock) const {
  auto& state = *store_->state_;
  if (seen_changes_ == state.changes) return false;
  std::vector<ParameterRef> behind;
  for (const auto& ref : refs_)
    if (state.is_behind(ref)) behind.push_back(ref);
  if (!behind.empty()) state.wait_for_accesses(lock, behind);
  return !behind.empty();
}

void ParameterReader::read_published() {
  for (std::size_t i = 0; i < refs_.size(); ++i) tensors_[i] = published_->values.at(refs_[i]);
  seen_changes_ = 0;
  ++version_;
}

std::chrono::nanoseconds ParameterReader::age() const {
  return published_ ? std::chrono::steady_clock::now() - published_->at : std::chrono::nanoseconds(0);
}

void ParameterReader::leave() {
  {
    std::lock_guard lock(store_->state_->mutex);
    for (auto* copy : copies_) --copy->accesses;
  }
  store_->state_->access_over.notify_all();
}

}  // namespace troupe
