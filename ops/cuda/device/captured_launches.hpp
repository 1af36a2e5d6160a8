#pragma once

#include <span>
#include <vector>

#include "troupe/ops/cuda/device/check.hpp"

namespace troupe::cuda {

/// The launches of one stream capture, whose dependencies the caller gives. By default CUDA makes captured work wait
/// for the work captured before it. This class sets the graph nodes after which the stream captures its next node, so
/// that launches that do not wait for each other may run at the same time.
class CapturedLaunches {
 public:
  /// Begins a launch that waits for the launches with the numbers `waits_for`; see Stream::begin_launch. Throws Error
  /// if CUDA refuses.
  void begin(cudaStream_t stream, std::span<const std::size_t> waits_for);
  /// Makes the work that the stream captures from now on wait for all launches. Throws Error if CUDA refuses.
  void join(cudaStream_t stream);

 private:
  /// Nodes of the captured graph, and for each node CUDA's data about the edge from it to a later node.
  struct Nodes {
    std::vector<cudaGraphNode_t> nodes;
    std::vector<cudaGraphEdgeData> edges;
  };

  static Nodes last_captured(cudaStream_t stream);
  void end_launch(cudaStream_t stream);
  void go_on_after(cudaStream_t stream, std::span<const std::size_t> launches) const;

  std::vector<Nodes> ends_;  // the last nodes of each launch
  bool has_begun_ = false;
};

}  // namespace troupe::cuda
