#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "troupe/ops/core/stream.hpp"
#include "troupe/ops/graph/rows_cache.hpp"

namespace troupe {

class DeviceMemory;
class Segment;

/// The captured subgraphs of a segment on a device. A subgraph is a run of tasks that is launched at once. Captured
/// work works on the memory that it was captured with, so there is one capture for every constellation of addresses.
/// These constellations come again, since places and slots are used in turn. Used on one thread at a time.
class CapturedSubgraphs {
 public:
  /// Tells apart on which memory a firing works.
  using Key = std::vector<std::uintptr_t>;
  /// Objects that captured work needs, kept with it.
  using Resources = std::vector<std::shared_ptr<const void>>;
  /// Launches the tasks from `first` to before `end`, one by one.
  using LaunchTasks = std::function<Resources(std::size_t first, std::size_t end)>;

  /// `ends[i]` is the number of the task after the subgraph that begins with task i.
  explicit CapturedSubgraphs(std::vector<std::size_t> ends) : ends_(std::move(ends)) {}

  /// Begins a firing. The first firing of a key runs task by task, so that kernels can prepare themselves.
  void start(const Key& key);
  /// Launches the subgraph that begins with task `first`. A subgraph that is not captured yet is captured while
  /// `launch_tasks` launches its tasks. Returns the number of the task after the subgraph; `first` if the tasks have to
  /// run one by one.
  std::size_t launch(std::size_t first, Stream& stream, const LaunchTasks& launch_tasks);
  /// Ends a firing that has failed: nothing more of it is launched, and it does not count as a firing that has run.
  void abandon() { current_ = nullptr; }
  /// Ends a firing. Does nothing if the firing was abandoned, or failed before it could start.
  void finish();

  /// Launches of captured work so far.
  std::int64_t launches() const { return launches_; }

  /// Tasks of the smallest subgraph that is captured.
  static constexpr std::size_t kFewest = 2;
  /// Keys kept. The least recently used key makes way for a new one.
  static constexpr std::size_t kMostKeys = 16;

 private:
  struct Subgraph {
    std::shared_ptr<CapturedWork> work;  // null until it is captured
    Resources resources;
  };
  struct Subgraphs {
    std::vector<Subgraph> by_first;  // by the subgraph's first task
    bool has_run = false;
  };

  static Subgraph capture(Stream& stream, const std::function<Resources()>& launch_tasks);

  std::vector<std::size_t> ends_;
  RowsCache<Subgraphs, Key> by_key_{kMostKeys};
  Subgraphs* current_ = nullptr;  // for the firing in progress
  std::int64_t launches_ = 0;
  bool refused_ = false;  // a task cannot be captured
};

/// Captures subgraphs of a segment on a device: runs of tasks between which no other actor has to hear of a tensor. The
/// copies of their outputs to the host are part of them. Used on one thread at a time.
class SegmentCapture {
 public:
  /// False if the environment variable TROUPE_CAPTURE is `0`. With `chain`, every launch of a subgraph waits for the
  /// launch before.
  static bool is_allowed();

  /// Both arguments outlive this. The segment has its tasks.
  SegmentCapture(const Segment& segment, DeviceMemory& memory);

  /// Launches the subgraph that begins with task `first` of a firing whose arguments are bound. Returns the number of
  /// the task after it; `first` if the tasks have to run one by one.
  std::size_t launch(std::size_t first);
  /// Ends a firing that has failed.
  void abandon() { subgraphs_.abandon(); }
  /// Ends a firing.
  void finish() { subgraphs_.finish(); }

 private:
  void start();
  CapturedSubgraphs::Resources launch_tasks(std::size_t first, std::size_t end);

  const Segment& segment_;
  DeviceMemory& memory_;
  CapturedSubgraphs subgraphs_;
  CapturedSubgraphs::Key key_;
  bool is_chain_;
  std::vector<bool> copied_inside_;  // by output: its copy to the host is part of a subgraph
};

}  // namespace troupe
