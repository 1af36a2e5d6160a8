#pragma once

#include <span>
#include <vector>

#include "troupe/ops/cuda/device/check.hpp"

namespace troupe::cuda {

/// The launches of one stream capture. The caller gives the dependencies of each launch. By default CUDA makes captured
/// work wait for the work captured before it. This class sets the graph nodes after which the stream captures its next
/// node, so that launches that do not wait for each other may run at the same time.
class CapturedLaunches {
 public:
  /// Ends the current launch, if there is one, and begins the next, which waits for the launches with the numbers
  /// `waits_for`. Launches are numbered from 0 in the order of their begin() calls. Throws Error if CUDA refuses.
  void begin(cudaStream_t stream, std::span<const std::size_t> waits_for);
  /// Ends the current launch, and makes the work that the stream captures from now on wait for all launches. Does
  /// nothing if no launch has begun. Throws Error if CUDA refuses.
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

  std::vector<Nodes> ends_;  // the last captured nodes of each ended launch
  bool has_begun_ = false;
};

}  // namespace troupe::cuda
