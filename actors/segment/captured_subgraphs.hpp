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

/// The captured subgraphs of a segment on a device. A subgraph consists of successive tasks whose work a stream
/// captures once and then launches at once, again and again (on a GPU, a CUDA graph). Captured work refers to memory by
/// address, so each subgraph is captured once for every combination of addresses, its key. Keys recur, since the areas
/// for copied inputs and the slots of outputs are used in turn. Used on one thread at a time.
class CapturedSubgraphs {
 public:
  /// The number of rows of a firing, and the addresses and slots that identify the memory on which it works.
  using Key = std::vector<std::uintptr_t>;
  /// Objects that captured work needs, kept as long as the work.
  using Resources = std::vector<std::shared_ptr<const void>>;
  /// Launches the tasks `first` to `end - 1`, and returns the objects that their work needs.
  using LaunchTasks = std::function<Resources(std::size_t first, std::size_t end)>;

  /// `ends[i]` is the number of the task after the subgraph that begins with task i, or i if task i cannot be captured.
  explicit CapturedSubgraphs(std::vector<std::size_t> ends) : ends_(std::move(ends)) {}

  /// Begins a firing with this key. In the first firing with a key, launch() launches nothing, so that the tasks run
  /// one by one and kernels can prepare themselves. In later firings launch() captures.
  void start(const Key& key);
  /// Launches the subgraph that begins with task `first`; first captures it, while `launch_tasks` launches its tasks,
  /// if it is not captured yet for the key. Returns the number of the task after the subgraph. Returns `first` and
  /// launches nothing if this is the first firing with the key, the subgraph has fewer than kFewest tasks, or a capture
  /// has failed.
  std::size_t launch(std::size_t first, Stream& stream, const LaunchTasks& launch_tasks);
  /// Ends a firing that has failed. It does not count as the first firing with its key. launch() must not be called
  /// again before start().
  void abandon() { current_ = nullptr; }
  /// Ends a firing, after which further firings with its key use captured work. Does nothing if the firing was
  /// abandoned, or failed before start().
  void finish();

  /// The number of launches of captured work so far.
  std::int64_t launches() const { return launches_; }

  /// The number of tasks of the smallest subgraph that is captured.
  static constexpr std::size_t kFewest = 2;
  /// The largest number of keys that are kept. If that many are kept, a new key replaces the least recently used one.
  static constexpr std::size_t kMostKeys = 16;

 private:
  struct Subgraph {
    std::shared_ptr<CapturedWork> work;  // null until it is captured
    Resources resources;
  };
  struct Subgraphs {
    std::vector<Subgraph> by_first;  // by the number of the subgraph's first task
    bool has_run = false;
  };

  static Subgraph capture(Stream& stream, const std::function<Resources()>& launch_tasks);

  std::vector<std::size_t> ends_;
  RowsCache<Subgraphs, Key> by_key_{kMostKeys};
  Subgraphs* current_ = nullptr;  // the subgraphs of the firing in progress; null after abandon() and between firings
  std::int64_t launches_ = 0;
  bool refused_ = false;  // a capture has failed, so all tasks run one by one from then on
};

/// Captures and launches the subgraphs of a segment on a device. A subgraph consists of successive tasks that can be
/// captured, of which only the last may compute a tensor that another actor awaits at once; see is_awaited_at_once().
/// Copies of the tasks' outputs to the host are part of a subgraph. Used on one thread at a time.
class SegmentCapture {
 public:
  /// False if the environment variable TROUPE_CAPTURE is `0`. If it is `chain`, the launches inside a subgraph run one
  /// after the other, never concurrently.
  static bool is_allowed();

  /// Both arguments must outlive this. The tasks of the segment must exist already.
  SegmentCapture(const Segment& segment, DeviceMemory& memory);

  /// Launches the subgraph that begins with task `first`; see CapturedSubgraphs::launch(). The arguments of the firing
  /// must be bound. The call for task 0 begins the firing. Also counts the updates of parameters that the subgraph
  /// makes, and notes the outputs that it computes. Returns the number of the task after the subgraph; `first` if task
  /// `first` has to run by itself.
  std::size_t launch(std::size_t first);
  /// Ends a firing that has failed. launch() must not be called again in this firing.
  void abandon() { subgraphs_.abandon(); }
  /// Ends a firing that has launched all its work, after which further firings with the same key use captured work.
  /// Does nothing after abandon().
  void finish() { subgraphs_.finish(); }

 private:
  void start();
  CapturedSubgraphs::Resources launch_tasks(std::size_t first, std::size_t end);

  const Segment& segment_;
  DeviceMemory& memory_;
  CapturedSubgraphs subgraphs_;
  CapturedSubgraphs::Key key_;
  bool is_chain_;
  /// By output: true if a subgraph that computes the output also copies it to the host, if it is read there. False for
  /// an output that overwrites an input in place or copies a parameter: its message makes the copy.
  std::vector<bool> copied_inside_;
};

}  // namespace troupe
