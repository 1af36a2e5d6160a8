#include "troupe/ops/cuda/cudnn/cudnn_graph.hpp"

#include "troupe/ops/core/error.hpp"

namespace troupe::cuda {

namespace {

// The alignment in bytes of a tensor of images with `row_elements` elements each. The tensor may be a view that begins
// at any image of an aligned tensor.
std::int64_t alignment_of_rows(std::int64_t row_elements, DType dtype) {
  const auto element = static_cast<std::int64_t>(size_of(dtype));
  return row_elements * element % CudnnGraph::kAlignment == 0 ? CudnnGraph::kAlignment : element;
}
std::int64_t alignment_of_x(const ConvolutionTask& task) {
  return alignment_of_rows(task.shape.height * task.shape.width * task.shape.channels, task.dtype);
}
std::int64_t alignment_of_y(const ConvolutionTask& task) {
  return alignment_of_rows(task.shape.pixels_of_row() * task.shape.filters, task.dtype);
}

/// The type of cuDNN's operation descriptor for a convolution or one of its gradients, and the names of that
/// descriptor's attributes.
struct ConvolutionOperation {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t convolution, x, weights, y, alpha, beta;
};

// In the order of ConvolutionTask::Kind.
constexpr ConvolutionOperation kOperations[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};

bool is_multiple(const void* address, std::int64_t alignment) {
  return reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(alignment) == 0;
}

/// cuDNN's type for a dtype. Throws Error if cuDNN has no convolutions for it.
cudnnDataType_t cudnn_type_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return CUDNN_DATA_FLOAT;
    case DType::float16:
      return CUDNN_DATA_HALF;
    case DType::bfloat16:
      return CUDNN_DATA_BFLOAT16;
    default:
      throw Error("cudnn", "does not convolve " + std::string(name_of(dtype)));
  }
}

}  // namespace

bool CudnnGraph::are_aligned(const ConvolutionTask& task, const ConvolutionTensors& tensors) {
  return is_multiple(tensors.x, alignment_of_x(task)) && is_multiple(tensors.y, alignment_of_y(task)) &&
         is_multiple(tensors.weights, kAlignment) && is_multiple(tensors.bias, kAlignment);
}

CudnnGraph::CudnnGraph(const ConvolutionTask& task, const CudnnTarget& target)
    : task_(task), target_(target), graph_(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
  const auto& s = task.shape;
  const auto type = cudnn_type_of(task.dtype);
  x_ = &add_tensor(kX, {s.rows, s.channels, s.height, s.width}, alignment_of_x(task), type, false);
  const bool of_weights = task.kind == ConvolutionTask::Kind::grad_weights;
  const auto dtype_of_weights = of_weights ? task.gradient : task.dtype;
  weights_ = &add_tensor(kWeights, {s.filters, s.channels / s.groups, s.kernel_height, s.kernel_width}, kAlignment,
                         cudnn_type_of(dtype_of_weights), false);
  y_ = &add_tensor(kY, {s.rows, s.filters, s.y_height, s.y_width}, alignment_of_y(task), type, false);
  const auto* last = task.bias || task.relu ? &add_intermediate() : y_;
  add_convolution(*last);
  if (task.bias) {
    const auto& bias = add_tensor(kBias, {1, s.filters, 1, 1}, kAlignment, type, false);
    const auto& sum = task.relu ? add_intermediate() : *y_;
    add_pointwise(CUDNN_POINTWISE_ADD, *last, &bias, sum);
    last = &sum;
  }
  if (task.relu) add_pointwise(CUDNN_POINTWISE_RELU_FWD, *last, nullptr, *y_);
  if (target.handle != nullptr) graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
  graph_.set_descriptors(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations_);
  graph_.finalize();
}

CudnnDescriptor& CudnnGraph::add_part(cudnnBackendDescriptorType_t type) {
  return *parts_.emplace_back(std::make_unique<CudnnDescriptor>(type));
}

void CudnnGraph::finish_operation(CudnnDescriptor& operation) {
  operation.finalize();
  operations_.push_back(operation.get());
}

CudnnDescriptor& CudnnGraph::add_tensor(std::int64_t id, const Sizes& sizes, std::int64_t alignment,
                                        cudnnDataType_t type, bool is_virtual) {
  auto& tensor = add_part(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const auto columns = sizes[1], rows = sizes[3] * columns, outermost = sizes[2] * rows;
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  tensor.set_integers(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes);
  tensor.set_integers(CUDNN_ATTR_TENSOR_STRIDES, {outermost, 1, rows, columns});
  tensor.set_integers(CUDNN_ATTR_TENSOR_UNIQUE_ID, {id});
  tensor.set_integers(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {alignment});
  if (is_virtual) tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true);
  tensor.finalize();
  return tensor;
}

CudnnDescriptor& CudnnGraph::add_intermediate() {
  const auto& s = task_.shape;
  return add_tensor(next_id_++, {s.rows, s.filters, s.y_height, s.y_width}, kAlignment, CUDNN_DATA_FLOAT, true);
}

void CudnnGraph::add_convolution(const CudnnDescriptor& y) {
  auto& convolution = add_part(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const auto& s = task_.shape;
  convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  convolution.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  convolution.set_integers(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {2});
  convolution.set_integers(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {s.padding, s.padding});
  convolution.set_integers(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {s.padding, s.padding});
  convolution.set_integers(CUDNN_ATTR_CONVOLUTION_DILATIONS, {1, 1});
  convolution.set_integers(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {s.stride, s.stride});
  convolution.finalize();
  const auto& names = kOperations[static_cast<std::size_t>(task_.kind)];
  auto& op = add_part(names.type);
  op.set_descriptor(names.convolution, convolution);
  op.set_descriptor(names.x, *x_);
  op.set_descriptor(names.weights, *weights_);
  op.set_descriptor(names.y, y);
  op.set(names.alpha, CUDNN_TYPE_FLOAT, 1.0F);
  op.set(names.beta, CUDNN_TYPE_FLOAT, 0.0F);
  finish_operation(op);
}

void CudnnGraph::add_pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& x, const CudnnDescriptor* b,
                               const CudnnDescriptor& y) {
  auto& kind = add_part(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  kind.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  kind.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  // By default the relu of cuDNN does not propagate NaN.
  if (mode == CUDNN_POINTWISE_RELU_FWD)
    kind.set(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, CUDNN_PROPAGATE_NAN);
  kind.finalize();
  auto& op = add_part(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  op.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind);
  op.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
  if (b != nullptr) op.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
  op.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  finish_operation(op);
}

}  // namespace troupe::cuda
