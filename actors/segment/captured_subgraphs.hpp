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

/// The captured subgraphs of a segment on a device. A subgraph consists of successive tasks that are launched at once.
/// Captured work refers to memory by address, so each subgraph is captured once for every combination of addresses, its
/// key. Keys recur, since the areas for copied inputs and the slots of outputs are used in turn. Used on one thread at
/// a time.
class CapturedSubgraphs {
 public:
  /// The number of rows of a firing, and the addresses and slots that identify the memory on which it works.
  using Key = std::vector<std::uintptr_t>;
  /// Objects that captured work needs, kept as long as the work.
  using Resources = std::vector<std::shared_ptr<const void>>;
  /// Launches the tasks `first` to `end - 1`, and returns the objects that their work needs.
  using LaunchTasks = std::function<Resources(std::size_t first, std::size_t end)>;

  /// `ends[i]` is the number of the task after the subgraph that begins with task i.
  explicit CapturedSubgraphs(std::vector<std::size_t> ends) : ends_(std::move(ends)) {}

  /// Begins a firing. The first firing with a key runs task by task, so that kernels can prepare themselves; launch()
  /// captures in later firings.
  void start(const Key& key);
  /// Launches the subgraph that begins with task `first`. A subgraph that is not captured yet is captured while
  /// `launch_tasks` launches its tasks. Returns the number of the task after the subgraph; `first` if the tasks have to
  /// run one by one.
  std::size_t launch(std::size_t first, Stream& stream, const LaunchTasks& launch_tasks);
  /// Ends a firing that has failed: nothing more of it is launched, and it does not count as a firing that has run.
  void abandon() { current_ = nullptr; }
  /// Ends a firing. Does nothing if the firing was abandoned, or failed before it could start.
  void finish();

  /// The number of launches of captured work so far.
  std::int64_t launches() const { return launches_; }

  /// The number of tasks of the smallest subgraph that is captured.
  static constexpr std::size_t kFewest = 2;
  /// The largest number of keys that are kept. A new key then replaces the least recently used one.
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
  Subgraphs* current_ = nullptr;  // the subgraphs of the firing in progress; null after abandon() and between firings
  std::int64_t launches_ = 0;
  bool refused_ = false;  // a capture has failed, so all tasks run one by one from then on
};

/// Captures subgraphs of a segment on a device: successive tasks that can be captured, of which only the last may
/// compute a tensor that another actor awaits at once; see is_awaited_at_once(). Copies of their outputs to the host
/// are part of a subgraph. Used on one thread at a time.
class SegmentCapture {
 public:
  /// False if the environment variable TROUPE_CAPTURE is `0`. If it is `chain`, the launches inside a subgraph run one
  /// after the other, never concurrently.
  static bool is_allowed();

  /// Both arguments must outlive this. The tasks of the segment must exist already.
  SegmentCapture(const Segment& segment, DeviceMemory& memory);

  /// Launches the subgraph that begins with task `first` of a firing whose arguments are bound. Returns the number of
  /// the task after the subgraph; `first` if the tasks have to run one by one.
  std::size_t launch(std::size_t first);
  /// Ends a firing that has failed: nothing more of it is launched as a subgraph.
  void abandon() { subgraphs_.abandon(); }
  /// Ends a firing that has launched all its work.
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
