#pragma once

#include <vector>

#include "troupe/ops/cuda/cudnn/convolution.hpp"
#include "troupe/ops/cuda/cudnn/cudnn_library.hpp"

namespace troupe::cuda {

/// The GPU for which graphs are made: the device of `handle`, or, if that is null, a GPU that `properties`, a
/// CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, describes. Graphs for a described GPU cannot run.
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  const CudnnDescriptor* properties = nullptr;  ///< or null
};

/// A ConvolutionTask as a graph of cuDNN operations.
class CudnnGraph {
 public:
  /// The ids of the tensors in the graph.
  static constexpr std::int64_t kX = 1, kWeights = 2, kBias = 3, kY = 4;
  /// The alignment in bytes that cuDNN's fast algorithms need. The graph requires this alignment of the weights and the
  /// bias, and of x and y if the bytes of one image are a multiple of kAlignment. If they are not, the graph requires
  /// only the alignment of an element, so that x or y may begin at any image of a larger tensor.
  static constexpr std::int64_t kAlignment = 16;

  /// Throws Error if cuDNN refuses. Keeps the pointers of `target`, so `target.properties` must outlive the graph.
  CudnnGraph(const ConvolutionTask& task, const CudnnTarget& target);

  const CudnnDescriptor& descriptor() const { return graph_; }
  const CudnnTarget& target() const { return target_; }

  /// Whether the tensors are aligned as the graph of a task requires.
  static bool are_aligned(const ConvolutionTask& task, const ConvolutionTensors& tensors);

 private:
  using Sizes = std::vector<std::int64_t>;

  CudnnDescriptor& add_part(cudnnBackendDescriptorType_t type);
  void finish_operation(CudnnDescriptor& operation);
  /// Adds a tensor whose `sizes` are [outermost, channels, rows, columns]. Its memory is [outermost, rows, columns,
  /// channels]. A virtual tensor is an intermediate result, which cuDNN need not store.
  CudnnDescriptor& add_tensor(std::int64_t id, const Sizes& sizes, std::int64_t alignment, cudnnDataType_t type,
                              bool is_virtual);
  CudnnDescriptor& add_intermediate();
  /// Adds the convolution of the task, or its gradient. In a forward task, `y` is the result before the epilogue, which
  /// is y_ if there is no epilogue. For a gradient, `y` is dy.
  void add_convolution(const CudnnDescriptor& y);
  void add_pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& x, const CudnnDescriptor* b,
                     const CudnnDescriptor& y);

  ConvolutionTask task_;
  CudnnTarget target_;
  std::int64_t next_id_ = 100;  // id of the next virtual tensor, which cuDNN need not store
  std::vector<std::unique_ptr<CudnnDescriptor>> parts_;
  std::vector<cudnnBackendDescriptor_t> operations_;
  CudnnDescriptor *x_ = nullptr, *weights_ = nullptr, *y_ = nullptr;
  CudnnDescriptor graph_;
};

}  // namespace troupe::cuda
