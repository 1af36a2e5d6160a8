#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <string>

#include "troupe/ops/graph/kernel.hpp"

namespace troupe::cuda {

/// The sizes of a convolution of images x [rows, height, width, channels] with weights [kernel height, kernel width,
/// channels of a group, filters], which gives y [rows, y height, y width, filters].
struct Convolution {
  std::int64_t rows, height, width, channels;
  std::int64_t y_height, y_width, filters;
  std::int64_t kernel_height, kernel_width;
  std::int64_t stride, padding, groups;

  Convolution(const Attributes& attributes, const Shape& x, const Shape& weights, const Shape& y)
      : rows(x[0]),
        height(x[1]),
        width(x[2]),
        channels(x[3]),
        y_height(y[1]),
        y_width(y[2]),
        filters(y[3]),
        kernel_height(weights[0]),
        kernel_width(weights[1]),
        stride(attributes.integer("stride")),
        padding(attributes.integer("padding")),
        groups(attributes.integer("groups")) {}

  std::int64_t pixels_of_row() const { return y_height * y_width; }
  /// The number of elements of x, zeros of the padding included, that an element of y depends on.
  std::int64_t window() const { return kernel_height * kernel_width * (channels / groups); }
  /// Whether each pixel of y depends only on the same pixel of x.
  bool is_pointwise() const { return kernel_height == 1 && kernel_width == 1 && stride == 1 && padding == 0; }
};

/// A task for a convolution library: y from x and weights, or the gradient of x or of the weights.
struct ConvolutionTask {
  enum class Kind { forward, grad_data, grad_weights };

  Kind kind;
  Convolution shape;
  DType dtype = DType::float32;     ///< type of all tensors but gradients of weights; sums are float32
  DType gradient = DType::float32;  ///< type of gradients of weights: equal to dtype, or float32
  bool tf32 = false;                ///< whether float32 factors may be rounded to TF32
  bool bias = false, relu = false;  ///< for `forward`: whether a bias is added to y, and whether a relu follows

  /// Returns the task as one word: the key by which the choice of an algorithm for it is remembered. Tasks for which
  /// different algorithms may be the fastest have different keys.
  std::string key() const;
};

/// The addresses, on the device, of the tensors of a task or of their gradients. The task writes one of them: y for
/// `forward`, x for `grad_data`, weights for `grad_weights`. `bias` is null if the task has none. x and y are [rows,
/// height, width, channels] in memory, weights are [filters, kernel height, kernel width, channels of a group].
struct ConvolutionTensors {
  const void *x, *weights, *bias, *y;
};

/// A ConvolutionTask that a library has prepared. Sums are always computed in the same order. Used by one thread at a
/// time.
class LibraryConvolution {
 public:
  virtual ~LibraryConvolution() = default;

  virtual std::size_t workspace_bytes() const = 0;
  /// Whether run() includes the epilogue of the task: adding the bias, and the relu. If it does not, the caller must
  /// apply to y what the task has of these.
  virtual bool has_epilogue() const = 0;
  /// Launches the task. `workspace` must have workspace_bytes() bytes. Throws Error if the library refuses. If a tensor
  /// is not aligned as the algorithm requires, such as some views, the call uses aligned copies; the first such call
  /// allocates their memory and must not be captured.
  virtual void run(cudaStream_t stream, const ConvolutionTensors& tensors, void* workspace) = 0;
};

/// Prepares an algorithm of a convolution library for a task on the calling thread's current device: by default the
/// fastest, which may block to measure. If the library has no algorithm with the task's epilogue, prepares one without
/// the epilogue; see has_epilogue(). Returns null if there is no library, or if it has no algorithm.
std::unique_ptr<LibraryConvolution> find_library_convolution(const ConvolutionTask& task);
/// Prepares two tasks like find_library_convolution(), measures both, returns the faster one and sets `task` to it. If
/// only one task can be prepared, returns that one and sets `task` to it; if neither can, returns null. The tasks may
/// differ only in the dtype of the tensor that they write; `task` must write at least as many bytes as `other`.
std::unique_ptr<LibraryConvolution> faster_library_convolution(ConvolutionTask& task, ConvolutionTask other);

}  // namespace troupe::cuda
