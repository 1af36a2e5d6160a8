#include "troupe/actors/run/captured_stretches.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"

namespace troupe {

void CapturedStretches::start(const Key& key) {
  auto found = std::ranges::find(entries_, key, &Entry::key);
  if (found == entries_.end()) {
    if (entries_.size() == kMostKeys) entries_.erase(std::ranges::min_element(entries_, {}, &Entry::last_use));
    entries_.push_back({key, 0, false, std::vector<std::shared_ptr<CapturedWork>>(ends_.size())});
    found = std::prev(entries_.end());
  }
  found->last_use = ++uses_;
  current_ = static_cast<std::size_t>(found - entries_.begin());
}

/// Null if it cannot be captured; nothing has run then.
std::shared_ptr<CapturedWork> CapturedStretches::capture(Stream& stream, const std::function<void()>& launch_tasks) {
  stream.begin_capture();
  bool launched = true;
  try {
    launch_tasks();
  } catch (const std::exception&) {
    // It is thrown again, with its place, when the tasks run one by one.
    launched = false;
  }
  try {
    auto work = stream.end_capture();
    return launched ? work : nullptr;
  } catch (const Error&) {
    return nullptr;
  }
}

std::size_t CapturedStretches::launch(std::size_t first, Stream& stream,
                                      const std::function<void(std::size_t, std::size_t)>& launch_tasks) {
  const auto end = ends_[first];
  auto& entry = entries_[current_.value()];
  if (refused_ || !entry.has_run || end < first + kFewest) return first;
  auto& work = entry.by_first[first];
  if (work == nullptr) work = capture(stream, [&] { launch_tasks(first, end); });
  refused_ = work == nullptr;
  if (refused_) return first;
  stream.launch(*work);
  ++launches_;
  return end;
}

void CapturedStretches::finish() {
  if (current_) entries_[*current_].has_run = true;
  current_.reset();
}

}  // namespace troupe
