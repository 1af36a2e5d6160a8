#include "troupe/actors/segment/captured_stretches.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

#include "troupe/ops/core/error.hpp"

namespace troupe {

void CapturedStretches::start(const Key& key) {
  auto found = std::ranges::find(entries_, key, &Entry::key);
  if (found == entries_.end()) {
    if (entries_.size() == kMostKeys) entries_.erase(std::ranges::min_element(entries_, {}, &Entry::last_use));
    entries_.push_back({key, 0, false, std::vector<Stretch>(ends_.size())});
    found = std::prev(entries_.end());
  }
  found->last_use = ++uses_;
  current_ = static_cast<std::size_t>(found - entries_.begin());
}

/// Without work if it cannot be captured; nothing has run then. Throws what earlier work failed with.
CapturedStretches::Stretch CapturedStretches::capture(Stream& stream, const std::function<Resources()>& launch_tasks) {
  stream.begin_capture();
  Stretch stretch;
  std::string obstacle;
  try {
    stretch.resources = launch_tasks();
  } catch (const std::exception& error) {
    // If capturing is not the cause, the tasks throw it again, with its place, when they run one by one.
    obstacle = error.what();
  }
  try {
    stretch.work = stream.end_capture();
  } catch (const Error& error) {
    if (obstacle.empty()) obstacle = error.what();
  }
  if (obstacle.empty()) return stretch;
  if (const auto fault = stream.fault()) std::rethrow_exception(fault);
  std::fprintf(stderr, "[capture] work is launched op by op, because it cannot be captured: %s\n", obstacle.c_str());
  return {};
}

std::size_t CapturedStretches::launch(std::size_t first, Stream& stream, const LaunchTasks& launch_tasks) {
  const auto end = ends_[first];
  auto& entry = entries_[current_.value()];
  if (refused_ || !entry.has_run || end < first + kFewest) return first;
  auto& stretch = entry.by_first[first];
  if (stretch.work == nullptr) stretch = capture(stream, [&] { return launch_tasks(first, end); });
  refused_ = stretch.work == nullptr;
  if (refused_) return first;
  stream.launch(*stretch.work);
  ++launches_;
  return end;
}

void CapturedStretches::finish() {
  if (current_) entries_[*current_].has_run = true;
  current_.reset();
}

}  // namespace troupe
