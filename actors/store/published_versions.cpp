#include "troupe/actors/store/published_versions.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "troupe/actors/store/parameter_store_state.hpp"
#include "troupe/ops/core/error.hpp"

namespace troupe {

struct ParameterStore::State::CopyToPublish {
  ParameterRef ref;
  Copy* source;
  Device device;
  std::shared_ptr<PublishedValue> value;

  /// Copies the elements, to the memory of an older value if it fits.
  void copy() const {
    const auto& from = source->tensor;
    auto& to = value->tensor;
    if (!to || to.device() != device || to.dtype() != from.dtype() || !(to.shape() == from.shape()))
      to = Tensor(from.shape(), from.dtype(), device);
    copy_and_wait(from, to);
  }
};

namespace {

bool is_read(const std::shared_ptr<PublishedValue>& value) {
  return value && value->accesses > 0;
}

}  // namespace

bool ParameterStore::State::has_version(const ReadCopies& copies) const {
  return std::ranges::all_of(copies.refs, [&](const ParameterRef& ref) {
    const auto entry = published.find(ref);
    return entry != published.end() && entry->second.is_current;
  });
}

bool ParameterStore::State::await_version(std::unique_lock<std::mutex>& lock,
                                          const std::shared_ptr<const ReadCopies>& copies) {
  const auto& names = copies->names;
  const auto in_run = [&] { return is_used(names) && are_in_run(names); };
  if (!in_run()) return false;
  version_readers.insert(copies);
  const auto earlier_failures = publish_failures;
  if (!has_version(*copies)) {
    if (drives_run(names)) return false;
    await_boundary(lock, names, Wanted::version, [&] {
      return !in_run() || has_version(*copies) || find_publish_failure(names, earlier_failures) != nullptr;
    });
    if (!in_run()) return false;
  }
  const bool is_there = has_version(*copies);
  auto* failed = find_publish_failure(names, is_there ? 0 : earlier_failures);
  if (failed == nullptr || (is_there && failed->is_publish_failure_known)) return is_there;
  failed->is_publish_failure_known = true;
  throw Error("store", "a fit could not copy its parameters for readers: " + failed->publish_failure);
}

RegisteredFit* ParameterStore::State::find_publish_failure(const std::set<std::string>& names,
                                                           std::uint64_t after) const {
  const auto fit = std::ranges::find_if(fits, [&](const auto& each) {
    return !each->publish_failure.empty() && each->publish_failed_at > after && each->uses(names);
  });
  return fit == fits.end() ? nullptr : fit->get();
}

void ParameterStore::State::drop_versions(const std::set<std::string>& names) {
  auto dropped = names;
  for (const auto& fit : fits)
    if (fit->uses(names)) dropped.insert(fit->parameters.begin(), fit->parameters.end());
  bool has_dropped = false;
  for (auto& [ref, copy] : published)
    if (dropped.contains(ref.name)) has_dropped = std::exchange(copy.is_current, false) || has_dropped;
  if (!has_dropped) return;
  ++versions;
  for (const auto& fit : fits)
    if (fit->uses(dropped)) fit->is_version_wanted = true;
}

std::vector<ParameterStore::State::CopyToPublish> ParameterStore::State::copies_to_publish() {
  std::erase_if(version_readers, [](const auto& reader) { return reader.expired(); });
  std::set<ParameterRef> refs;
  for (const auto& reader : version_readers)
    if (const auto copies = reader.lock()) refs.insert(copies->refs.begin(), copies->refs.end());
  std::erase_if(published, [&](const auto& entry) { return !refs.contains(entry.first); });
  std::vector<CopyToPublish> copies;
  for (const auto& ref : refs) {
    const auto entry = parameters.find(ref.name);
    if (entry == parameters.end() || !entry->second.copies.contains(ref.replica) || are_in_run({ref.name})) continue;
    auto* source = const_cast<Copy*>(&current(ref));
    if (source->broken.empty()) copies.push_back({ref, source, find(ref).tensor.device(), nullptr});
  }
  return copies;
}

void ParameterStore::State::publish(std::unique_lock<std::mutex>& lock, RegisteredFit& fit) {
  if (!fit.is_version_wanted) return;
  auto copies = copies_to_publish();
  // The store keeps two versions. If the older one is still read, the request waits for the next boundary.
  for (const auto& copy : copies)
    if (published[copy.ref].is_current && is_read(published[copy.ref].spare)) return;
  fit.is_version_wanted = false;
  const auto boundary = std::chrono::steady_clock::now();
  for (auto& copy : copies) {
    auto spare = std::exchange(published[copy.ref].spare, nullptr);
    copy.value = spare && !is_read(spare) ? std::move(spare) : std::make_shared<PublishedValue>();
    copy.value->boundary = boundary;
  }
  // The elements are copied without the lock. The copies count as read meanwhile, so that nothing sets them.
  for (const auto& copy : copies) ++copy.source->accesses;
  lock.unlock();
  std::string failure;
  try {
    for (const auto& copy : copies) copy.copy();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  lock.lock();
  for (const auto& copy : copies) --copy.source->accesses;
  end_publishing(fit, copies, failure);
  access_over.notify_all();
}

/// Adds the values to the published ones. If they could not be copied, readers go on with the version before.
void ParameterStore::State::end_publishing(RegisteredFit& fit, const std::vector<CopyToPublish>& copies,
                                           const std::string& failure) {
  fit.publish_failure = failure;
  if (!failure.empty()) {
    fit.publish_failed_at = ++publish_failures;
    return;
  }
  fit.is_publish_failure_known = false;
  ++versions;
  for (const auto& copy : copies) {
    auto& entry = published[copy.ref];
    entry.spare = std::exchange(entry.newest, copy.value);
    entry.is_current = true;
  }
}

}  // namespace troupe
