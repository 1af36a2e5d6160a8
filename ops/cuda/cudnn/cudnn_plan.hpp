#pragma once

#include <memory>
#include <string>
#include <vector>

#include "troupe/ops/cuda/cudnn/cudnn_graph.hpp"

namespace troupe::cuda {

/// One of cuDNN's ways to compute a graph.
struct CudnnProposal {
  std::string name;  ///< one word, the same in every process
  std::shared_ptr<const CudnnDescriptor> configuration;
};

/// The ways to compute a graph that give the same bits in every run and are no less exact than asked for, the best
/// first by cuDNN's own estimate. Throws Error if cuDNN refuses.
std::vector<CudnnProposal> cudnn_proposals(const CudnnGraph& graph, bool float32_only);

/// A way to compute a graph, ready to run.
class CudnnPlan {
 public:
  /// For the target of the graph. Throws Error if cuDNN cannot compute it that way.
  CudnnPlan(const CudnnDescriptor& configuration, const CudnnTarget& target);

  std::size_t workspace_bytes() const { return workspace_bytes_; }
  /// Launches it. A null tensor is not part of the graph.
  void run(CudnnHandle& handle, cudaStream_t stream, const ConvolutionTensors& tensors, void* workspace) const;

 private:
  CudnnDescriptor plan_;
  std::size_t workspace_bytes_ = 0;
};

}  // namespace troupe::cuda
