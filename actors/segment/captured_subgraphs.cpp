#include "troupe/actors/segment/captured_subgraphs.hpp"

#include <cstdio>
#include <string>

#include "troupe/ops/core/error.hpp"

namespace troupe {

void CapturedSubgraphs::start(const Key& key) {
  current_ = by_key_.find(key);
  if (current_ == nullptr) current_ = &by_key_.add(key, {std::vector<Subgraph>(ends_.size())});
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
  if (refused_ || !current_->has_run || end < first + kFewest) return first;
  auto& subgraph = current_->by_first[first];
  if (subgraph.work == nullptr) subgraph = capture(stream, [&] { return launch_tasks(first, end); });
  refused_ = subgraph.work == nullptr;
  if (refused_) return first;
  stream.launch(*subgraph.work);
  ++launches_;
  return end;
}

void CapturedSubgraphs::finish() {
  if (current_ != nullptr) current_->has_run = true;
  current_ = nullptr;
}

}  // namespace troupe
