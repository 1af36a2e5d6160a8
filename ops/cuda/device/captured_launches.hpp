#pragma once

#include <span>
#include <vector>

#include "troupe/ops/cuda/device/check.hpp"

namespace troupe::cuda {

/// The launches of one capture. They need not run in the order in which they are captured: CUDA lets a stream drop the
/// nodes that it captured last, and continue after other nodes of the graph.
class CapturedLaunches {
 public:
  /// Begins a launch; see Stream::begin_launch. Throws Error if CUDA refuses.
  void begin(cudaStream_t stream, std::span<const std::size_t> waits_for);
  /// Makes the work that the stream captures from now on wait for all launches. Throws Error if CUDA refuses.
  void join(cudaStream_t stream);

 private:
  /// Nodes of the graph, with CUDA's data about the edge from each.
  struct Nodes {
    std::vector<cudaGraphNode_t> nodes;
    std::vector<cudaGraphEdgeData> edges;
  };

  static Nodes last_captured(cudaStream_t stream);
  void end_launch(cudaStream_t stream);
  void go_on_after(cudaStream_t stream, std::span<const std::size_t> launches) const;

  std::vector<Nodes> ends_;  // by launch
  bool has_begun_ = false;
};

}  // namespace troupe::cuda
