#pragma once

#include <span>
#include <vector>

#include "troupe/ops/cuda/device/check.hpp"

namespace troupe::cuda {

/// The launches of one capture, which need not run in the order in which they are captured: CUDA lets a stream forget
/// what it has captured last, and go on after other nodes of the graph.
class CapturedLaunches {
 public:
  /// A launch begins: see Stream::begin_launch. Throws Error if CUDA refuses.
  void begin(cudaStream_t stream, std::span<const std::size_t> waits_for);
  /// All have begun: what the stream captures from now on waits for all of them. Throws Error if CUDA refuses.
  void join(cudaStream_t stream);

 private:
  /// Nodes of the graph, with what CUDA knows of the edge from each.
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
