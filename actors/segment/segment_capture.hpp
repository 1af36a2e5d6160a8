#pragma once

#include <cstddef>
#include <vector>

#include "troupe/actors/segment/captured_subgraphs.hpp"

namespace troupe {

class DeviceMemory;
class Segment;

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
  struct Launch;

  void start();
  CapturedSubgraphs::Resources launch_tasks(std::size_t first, std::size_t end);
  std::vector<Launch> launches_of(std::size_t first, std::size_t end) const;
  Launch launch_of_task(std::size_t task) const;
  Launch launch_of_copy(std::int32_t output) const;

  const Segment& segment_;
  DeviceMemory& memory_;
  CapturedSubgraphs subgraphs_;
  CapturedSubgraphs::Key key_;
  bool is_chain_;
  std::vector<bool> copied_inside_;  // by output: its copy to the host is part of a subgraph
};

}  // namespace troupe
