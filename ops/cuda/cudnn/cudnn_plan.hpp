#pragma once

#include <memory>
#include <string>
#include <vector>

#include "troupe/ops/cuda/cudnn/cudnn_graph.hpp"

namespace troupe::cuda {

/// One of cuDNN's algorithms for a graph.
struct CudnnProposal {
  std::string name;  ///< one word, which is equal in every process
  std::shared_ptr<const CudnnDescriptor> configuration;
};

/// The algorithms for a graph that give the same bits in every run and are at least as exact as required, ordered by
/// cuDNN's own estimate of their speed. Throws Error if cuDNN refuses.
std::vector<CudnnProposal> cudnn_proposals(const CudnnGraph& graph, bool float32_only);

/// An algorithm for a graph that is ready to run.
class CudnnPlan {
 public:
  /// Prepares the algorithm for the target of the graph. Throws Error if cuDNN cannot compute the graph with it.
  CudnnPlan(const CudnnDescriptor& configuration, const CudnnTarget& target);

  std::size_t workspace_bytes() const { return workspace_bytes_; }
  /// Launches the graph. A null tensor is not part of the graph.
  void run(CudnnHandle& handle, cudaStream_t stream, const ConvolutionTensors& tensors, void* workspace) const;

 private:
  CudnnDescriptor plan_;
  std::size_t workspace_bytes_ = 0;
};

}  // namespace troupe::cuda
