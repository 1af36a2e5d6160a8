#pragma once

#include <memory>
#include <string>
#include <vector>

#include "troupe/ops/cuda/cudnn/cudnn_graph.hpp"

namespace troupe::cuda {

/// An algorithm that cuDNN proposes for a graph: its name, and its engine configuration.
struct CudnnProposal {
  std::string name;  ///< one word, which is equal in every process
  std::shared_ptr<const CudnnDescriptor> configuration;
};

/// Returns algorithms for a graph that give the same bits in every run, do not reduce precision, and, with
/// `float32_only`, use no tensor cores. The proposals of cuDNN's heuristic come first, in the order of their estimated
/// speed, then those of its fallback mode. The list is empty if cuDNN has no such algorithm. Throws Error if cuDNN
/// refuses to describe an algorithm.
std::vector<CudnnProposal> cudnn_proposals(const CudnnGraph& graph, bool float32_only);

/// An algorithm for a graph, ready to run.
class CudnnPlan {
 public:
  /// Prepares the algorithm of a CudnnProposal; `target` must be the target of its graph. Throws Error if cuDNN cannot
  /// compute the graph with the algorithm.
  CudnnPlan(const CudnnDescriptor& configuration, const CudnnTarget& target);

  std::size_t workspace_bytes() const { return workspace_bytes_; }
  /// Launches the graph, and holds the mutex of `handle` meanwhile. The address of a tensor that the graph does not
  /// have must be null. Throws Error if cuDNN refuses.
  void run(CudnnHandle& handle, cudaStream_t stream, const ConvolutionTensors& tensors, void* workspace) const;

 private:
  CudnnDescriptor plan_;
  std::size_t workspace_bytes_ = 0;
};

}  // namespace troupe::cuda
