#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <string>

#include "troupe/ops/core/dtype.hpp"
#include "troupe/ops/cuda/cudnn/convolution.hpp"

namespace troupe::cuda {

/// What is wanted of a library of convolutions: y from x and weights, or the gradient of either.
struct ConvolutionTask {
  enum class Kind { forward, grad_data, grad_weights };

  Kind kind;
  Convolution shape;
  DType dtype = DType::float32;     ///< of all tensors but gradients of weights; sums are float32
  DType gradient = DType::float32;  ///< of those: the same, or float32
  bool tf32 = false;                ///< float32 factors may be rounded to TF32
  bool bias = false, relu = false;  ///< forward: what is done to y at the end

  /// One word that tells apart whatever may make another algorithm the fastest.
  std::string key() const;
};

/// The tensors of a task or their gradients; one of them is written. Images lie in memory as ours do, but weights as
/// [filters, kernel height, kernel width, channels of a group].
struct ConvolutionTensors {
  const void *x, *weights, *bias, *y;
};

/// A task prepared by a library, always computed in the same order. Used by one thread at a time.
class LibraryConvolution {
 public:
  virtual ~LibraryConvolution() = default;

  virtual std::size_t workspace_bytes() const = 0;
  /// Whether run() does what is to be done to y at the end.
  virtual bool has_epilogue() const = 0;
  /// Launches it. Throws Error if the library refuses. Tensors that do not begin at multiples of 16 bytes, as some
  /// views, are copied; the first such call must not be captured.
  virtual void run(cudaStream_t stream, const ConvolutionTensors& tensors, void* workspace) = 0;
};

/// The fastest way that a library has for a task on the calling thread's current device, or null: there is no library,
/// or it has none.
std::unique_ptr<LibraryConvolution> find_library_convolution(const ConvolutionTask& task);
/// That of two tasks for which it has the faster way, by measuring both; `task` becomes that one. They differ in what
/// they write alone, of which the first has no fewer bytes.
std::unique_ptr<LibraryConvolution> faster_library_convolution(ConvolutionTask& task, ConvolutionTask other);

}  // namespace troupe::cuda
