#include "troupe/actors/segment/captured_subgraphs.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

#include "troupe/ops/core/error.hpp"

namespace troupe {

void CapturedSubgraphs::start(const Key& key) {
  auto entry = std::ranges::find(entries_, key, &Entry::key);
  if (entry == entries_.end()) {
    if (entries_.size() == kMostKeys) entries_.erase(std::ranges::min_element(entries_, {}, &Entry::last_use));
    entries_.push_back({key, 0, false, std::vector<Subgraph>(ends_.size())});
    entry = std::prev(entries_.end());
  }
  entry->last_use = ++uses_;
  current_ = static_cast<std::size_t>(entry - entries_.begin());
}

/// A subgraph that cannot be captured has no work, and none of its tasks has run then. Throws the error of earlier work
/// of the stream.
CapturedSubgraphs::Subgraph CapturedSubgraphs::capture(Stream& stream, const std::function<Resources()>& launch_tasks) {
  stream.begin_capture();
  Subgraph subgraph;
  std::string obstacle;
  try {
    subgraph.resources = launch_tasks();
  } catch (const std::exception& error) {
    // If capturing is not the cause, the tasks throw it again, with its place, when they run one by one.
    obstacle = error.what();
  }
  try {
    subgraph.work = stream.end_capture();
  } catch (const Error& error) {
    if (obstacle.empty()) obstacle = error.what();
  }
  if (obstacle.empty()) return subgraph;
  if (const auto fault = stream.fault()) std::rethrow_exception(fault);
  std::fprintf(stderr, "[capture] work is launched op by op, because it cannot be captured: %s\n", obstacle.c_str());
  return {};
}

std::size_t CapturedSubgraphs::launch(std::size_t first, Stream& stream, const LaunchTasks& launch_tasks) {
  const auto end = ends_[first];
  auto& entry = entries_[current_.value()];
  if (refused_ || !entry.has_run || end < first + kFewest) return first;
  auto& subgraph = entry.by_first[first];
  if (subgraph.work == nullptr) subgraph = capture(stream, [&] { return launch_tasks(first, end); });
  refused_ = subgraph.work == nullptr;
  if (refused_) return first;
  stream.launch(*subgraph.work);
  ++launches_;
  return end;
}

void CapturedSubgraphs::finish() {
  if (current_) entries_[*current_].has_run = true;
  current_.reset();
}

}  // namespace troupe
