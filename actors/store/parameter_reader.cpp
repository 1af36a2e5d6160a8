#include "troupe/actors/store/parameter_reader.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "troupe/actors/store/parameter_store_state.hpp"

namespace troupe {

ParameterReader::ParameterReader(std::shared_ptr<ParameterStore> store, std::vector<ParameterRef> refs,
                                 std::chrono::milliseconds refresh)
    : store_(std::move(store)), refresh_(refresh), tensors_(refs.size()) {
  std::set<std::string> names;
  for (const auto& ref : refs) names.insert(ref.name);
  read_ = std::make_shared<ReadCopies>(ReadCopies{std::move(refs), std::move(names)});
  std::lock_guard lock(store_->state_->mutex);
  for (const auto& ref : read_->refs) copies_.push_back(&store_->state_->find(ref));
}

ParameterReader::Access ParameterReader::access() {
  auto& state = *store_->state_;
  std::unique_lock lock(state.mutex);
  state.wait_for_writers(lock);
  bool has_version = state.await_version(lock, read_);
  if (!has_version && await_current_copies(lock)) has_version = state.await_version(lock, read_);
  has_version ? read_version() : read_copies();
  for (auto* accesses : accesses_) ++*accesses;
  Access access{this, [](ParameterReader* reader) { reader->leave(); }};
  if (has_version && age() > refresh_) state.request_version(lock, outdated());
  return access;
}

/// Waits until no other reader reads the copies that are behind the newest ones, which this reader then refreshes.
/// Returns whether it has waited.
bool ParameterReader::await_current_copies(std::unique_lock<std::mutex>& lock) const {
  auto& state = *store_->state_;
  if (seen_changes_ == state.changes) return false;
  const auto behind = state.behind(read_->refs);
  if (!behind.empty()) state.wait_for_accesses(lock, behind);
  return !behind.empty();
}

/// Takes the tensors of the copies.
void ParameterReader::read_copies() {
  auto& state = *store_->state_;
  // borrow() increments `changes` when it lends copies to a writer. If `changes` is unchanged, no run writes to the
  // copies.
  if (seen_changes_ != state.changes) {
    for (const auto& ref : read_->refs) {
      state.check_unwritten(ref);
      state.check_whole(ref);
    }
    state.refresh(read_->refs);
    values_.clear();
    accesses_.clear();
    for (std::size_t i = 0; i < copies_.size(); ++i) {
      tensors_[i] = copies_[i]->tensor;
      accesses_.push_back(&copies_[i]->accesses);
    }
    seen_changes_ = state.changes;
    seen_versions_ = 0;
    ++version_;
  }
  // Otherwise a later access would read the older values of a published version.
  if (state.is_used(read_->names)) state.drop_versions(read_->names);
}

/// Takes the published tensors.
void ParameterReader::read_version() {
  auto& state = *store_->state_;
  if (seen_versions_ == state.versions) return;
  values_.clear();
  accesses_.clear();
  for (std::size_t i = 0; i < read_->refs.size(); ++i) {
    const auto& value = values_.emplace_back(state.published.at(read_->refs[i]).newest);
    tensors_[i] = value->tensor;
    accesses_.push_back(&value->accesses);
  }
  boundary_ = (*std::ranges::min_element(values_, {}, [](const auto& value) { return value->boundary; }))->boundary;
  seen_versions_ = state.versions;
  seen_changes_ = 0;
  ++version_;
}

/// The names of the parameters whose published values are older than refresh_.
std::set<std::string> ParameterReader::outdated() const {
  const auto oldest = std::chrono::steady_clock::now() - refresh_;
  std::set<std::string> names;
  for (std::size_t i = 0; i < values_.size(); ++i)
    if (values_[i]->boundary < oldest) names.insert(read_->refs[i].name);
  return names;
}

std::chrono::nanoseconds ParameterReader::age() const {
  return seen_versions_ > 0 ? std::chrono::steady_clock::now() - boundary_ : std::chrono::nanoseconds(0);
}

void ParameterReader::leave() {
  {
    std::lock_guard lock(store_->state_->mutex);
    for (auto* accesses : accesses_) --*accesses;
  }
  store_->state_->access_over.notify_all();
}

}  // namespace troupe
