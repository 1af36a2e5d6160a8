#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "troupe/ops/core/stream.hpp"

namespace troupe {

/// What a segment on a device has captured of its work: a stretch is a run of tasks that is launched at once. What was
/// captured works on the memory that it was captured with, so there is one for every constellation of addresses, which
/// come again: places and slots are used in turn. Used on one thread at a time.
class CapturedStretches {
 public:
  /// Tells apart on which memory a firing works.
  using Key = std::vector<std::uintptr_t>;
  /// What captured work needs, kept with it.
  using Resources = std::vector<std::shared_ptr<const void>>;
  /// Launches the tasks from `first` to before `end`, one by one.
  using LaunchTasks = std::function<Resources(std::size_t first, std::size_t end)>;

  /// `ends[i]` is the number of the task after the stretch that begins with task i.
  explicit CapturedStretches(std::vector<std::size_t> ends) : ends_(std::move(ends)) {}

  /// A firing begins. The first one of a key runs task by task: kernels may prepare something then.
  void start(const Key& key);
  /// Launches the stretch that begins with task `first`, which `launch_tasks` launches one by one where it has not been
  /// captured yet. Returns the number of the task after it; `first` if the tasks have to run one by one.
  std::size_t launch(std::size_t first, Stream& stream, const LaunchTasks& launch_tasks);
  /// The firing has failed: nothing more of it is launched, and it does not count as one that has run.
  void abandon() { current_.reset(); }
  /// The firing is over. Does nothing if it was abandoned, or failed before it could start.
  void finish();

  /// Launches of captured work so far.
  std::int64_t launches() const { return launches_; }

  /// A stretch of fewer tasks is not worth it.
  static constexpr std::size_t kFewest = 2;
  /// Keys kept: the one that was not used for longest makes way.
  static constexpr std::size_t kMostKeys = 16;

 private:
  struct Stretch {
    std::shared_ptr<CapturedWork> work;  // null until it is captured
    Resources resources;
  };
  struct Entry {
    Key key;
    std::uint64_t last_use = 0;
    bool has_run = false;
    std::vector<Stretch> by_first;  // by the stretch's first task
  };

  static Stretch capture(Stream& stream, const std::function<Resources()>& launch_tasks);

  std::vector<std::size_t> ends_;
  std::vector<Entry> entries_;
  std::optional<std::size_t> current_;  // entry of the firing in progress
  std::uint64_t uses_ = 0;
  std::int64_t launches_ = 0;
  bool refused_ = false;  // something in it cannot be captured
};

}  // namespace troupe
