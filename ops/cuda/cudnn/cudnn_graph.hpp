#pragma once

#include <vector>

#include "troupe/ops/cuda/cudnn/convolution_library.hpp"
#include "troupe/ops/cuda/cudnn/cudnn_library.hpp"

namespace troupe::cuda {

/// The GPU that graphs are made for: that of a handle, or where there is none one that is described.
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  const CudnnDescriptor* properties = nullptr;  ///< CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR; such graphs do not run
};

/// A task as a graph of operations of cuDNN.
class CudnnGraph {
 public:
  /// The identifiers of tensors in it.
  static constexpr std::int64_t kX = 1, kWeights = 2, kBias = 3, kY = 4;
  /// In bytes, that for which the fast algorithms are made: tensors begin at multiples of it, images at least where a
  /// row of such a tensor does.
  static constexpr std::int64_t kAlignment = 16;

  /// Throws Error if cuDNN refuses. The target must stay.
  CudnnGraph(const ConvolutionTask& task, const CudnnTarget& target);

  const CudnnDescriptor& descriptor() const { return graph_; }
  const CudnnTarget& target() const { return target_; }

  /// Whether these begin where the graph of a task expects them.
  static bool are_aligned(const ConvolutionTask& task, const ConvolutionTensors& tensors);

 private:
  using Sizes = std::vector<std::int64_t>;

  /// Of a tensor whose sizes are given as [outermost, channels, rows, columns], while channels lie innermost.
  CudnnDescriptor& add_tensor(std::int64_t id, const Sizes& sizes, std::int64_t alignment, cudnnDataType_t type,
                              bool is_virtual);
  CudnnDescriptor& add_intermediate();
  CudnnDescriptor& add_convolution();
  void add_forward(const CudnnDescriptor& y);
  void add_grad_data();
  void add_grad_weights();
  void add_pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& x, const CudnnDescriptor* b,
                     const CudnnDescriptor& y);

  ConvolutionTask task_;
  CudnnTarget target_;
  std::int64_t next_id_ = 100;  // of tensors that are in no memory
  std::vector<std::unique_ptr<CudnnDescriptor>> parts_;
  std::vector<cudnnBackendDescriptor_t> operations_;
  CudnnDescriptor *x_ = nullptr, *weights_ = nullptr, *y_ = nullptr;
  CudnnDescriptor graph_;
};

/// That of a dtype. Throws Error if cuDNN has no convolutions of it.
cudnnDataType_t cudnn_type_of(DType dtype);

}  // namespace troupe::cuda
