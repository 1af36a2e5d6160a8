#include <algorithm>
#include <memory>

#include "troupe/ops/cuda/kernels/columns.cuh"
#include "troupe/ops/cuda/kernels/grouped_conv2d.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/library_conv2d.cuh"
#include "troupe/ops/cuda/product/product.hpp"

namespace troupe::cuda {

namespace {

/// The most memory for columns (see GatherColumns): the rows of a batch are computed in chunks whose columns fit. A
/// chunk has at least one row, even if its columns do not fit.
constexpr std::int64_t kMaxColumnBytes = std::int64_t{256} << 20;

/// The products of a convolution for the rows of a batch, in chunks whose columns fit into kMaxColumnBytes. All chunks
/// have the same number of rows, except for a smaller last one.
class ChunkProducts {
 public:
  /// shape_of(rows, is_first) must return the shape of the product of a chunk with `rows` rows; `is_first` says whether
  /// the chunk is the first one.
  template <class ShapeOf>
  ChunkProducts(const Convolution& shape, ShapeOf shape_of) : rows_(shape.rows) {
    const auto bytes_of_row = shape.pixels_of_row() * shape.window() * static_cast<std::int64_t>(sizeof(float));
    chunk_ = std::clamp<std::int64_t>(kMaxColumnBytes / bytes_of_row, 1, rows_);
    const auto last = rows_ % chunk_;
    first_ = std::make_unique<Product>(shape_of(chunk_, true));
    if (chunk_ < rows_) next_ = std::make_unique<Product>(shape_of(chunk_, false));
    if (last > 0) last_ = std::make_unique<Product>(shape_of(last, false));
  }

  /// The number of rows of every chunk, except for a smaller last one.
  std::int64_t chunk() const { return chunk_; }
  std::size_t workspace_bytes() const {
    std::size_t bytes = 0;
    for (const auto* product : {first_.get(), next_.get(), last_.get()})
      if (product != nullptr) bytes = std::max(bytes, product->workspace_bytes());
    return bytes;
  }
  /// Calls visit(first row, rows, product) for each chunk.
  template <class Visit>
  void for_each_chunk(Visit visit) const {
    for (std::int64_t first = 0; first < rows_; first += chunk_) {
      const auto rows = std::min(chunk_, rows_ - first);
      visit(first, rows, rows < chunk_ ? *last_ : (first == 0 ? *first_ : *next_));
    }
  }

 private:
  std::int64_t rows_, chunk_ = 0;
  std::unique_ptr<Product> first_, next_, last_;
};

/// Computes y, the product of the columns of x (see GatherColumns) and the weights. The epilogue of the product adds
/// the bias and applies the relu if the op has them.
template <class T>
class ColumnsForward {
 public:
  ColumnsForward(const OpCall& call, const Convolution& shape)
      : shape_(shape), products_(shape, [&](std::int64_t rows, bool) {
          ProductShape product{.m = rows * shape.pixels_of_row(), .n = shape.filters, .k = shape.window()};
          product.dtype = product.result = call.inputs[0].dtype;
          const bool has_bias = call.inputs.size() == 3, relu = call.attributes.flag("relu");
          if (has_bias) product.epilogue = relu ? Epilogue::relu_bias : Epilogue::bias;
          if (!has_bias && relu) product.epilogue = Epilogue::relu;
          return product;
        }) {}

  std::size_t scratch_bytes() const { return scratch_bytes_of<T>(columns()) + products_.workspace_bytes(); }

  void run(const Launch& where, Inputs in, Outputs out) const {
    ScratchParts parts(where.scratch);
    auto* columns_of_x = parts.take<T>(columns());
    products_.for_each_chunk([&](std::int64_t first, std::int64_t rows, const Product& product) {
      const auto* x = data_of<T>(in[0]) + first * shape_.height * shape_.width * shape_.channels;
      if (!shape_.is_pointwise())
        for_each(where, rows * shape_.pixels_of_row() * shape_.window(),
                 GatherColumns<T>(shape_, rows, x, columns_of_x));
      auto* y = mutable_data_of<T>(out[0]) + first * shape_.pixels_of_row() * shape_.filters;
      product.run(where.stream, shape_.is_pointwise() ? x : columns_of_x, data_of<T>(in[1]), optional_data_of<T>(in, 2),
                  y, parts.rest());
    });
  }

 private:
  /// The number of elements of a chunk's columns in scratch memory. 0 for a pointwise convolution: its columns are x
  /// itself.
  std::int64_t columns() const {
    return shape_.is_pointwise() ? 0 : products_.chunk() * shape_.pixels_of_row() * shape_.window();
  }

  Convolution shape_;
  ChunkProducts products_;
};

/// Computes dx, the gradient of x. The gradient of the columns is the product of dy and the transposed weights, in
/// float32. Each element of dx is the sum of the gradients of its copies in the columns.
template <class T>
class ColumnsGradData {
 public:
  ColumnsGradData(const OpCall& call, const Convolution& shape)
      : shape_(shape), products_(shape, [&](std::int64_t rows, bool) {
          return ProductShape{.m = rows * shape.pixels_of_row(),
                              .n = shape.window(),
                              .k = shape.filters,
                              .transpose_b = true,
                              .dtype = call.inputs[0].dtype};
        }) {}

  std::size_t scratch_bytes() const { return scratch_bytes_of<float>(columns()) + products_.workspace_bytes(); }

  void run(const Launch& where, Inputs in, Outputs out) const {
    ScratchParts parts(where.scratch);
    auto* gradient = parts.take<float>(columns());
    const auto of_row = shape_.height * shape_.width * shape_.channels;
    products_.for_each_chunk([&](std::int64_t first, std::int64_t rows, const Product& product) {
      const auto* dy = data_of<T>(in[0]) + first * shape_.pixels_of_row() * shape_.filters;
      product.run(where.stream, dy, data_of<T>(in[1]), nullptr, gradient, parts.rest());
      for_each(where, rows * of_row,
               SumColumns<T>(shape_, rows, gradient, mutable_data_of<T>(out[0]) + first * of_row));
    });
  }

 private:
  std::int64_t columns() const { return products_.chunk() * shape_.pixels_of_row() * shape_.window(); }

  Convolution shape_;
  ChunkProducts products_;
};

/// Computes the gradient of the weights, the product of the transposed columns of x and dy, in float32, and the
/// gradient of the bias if the op has a bias.
template <class T>
class ColumnsGradWeights {
 public:
  ColumnsGradWeights(const OpCall& call, const Convolution& shape)
      : shape_(shape),
        products_(shape,
                  [&](std::int64_t rows, bool is_first) {
                    return ProductShape{.m = shape.window(),
                                        .n = shape.filters,
                                        .k = rows * shape.pixels_of_row(),
                                        .transpose_a = true,
                                        .dtype = call.inputs[0].dtype,
                                        .adds = !is_first};
                  }),
        bias_(shape, call.attributes.flag("bias")) {}

  std::size_t scratch_bytes() const {
    return std::max(scratch_bytes_of<T>(columns()) + products_.workspace_bytes(), bias_.scratch_bytes());
  }

  void run(const Launch& where, Inputs in, Outputs out) const {
    ScratchParts parts(where.scratch);
    auto* columns_of_x = parts.take<T>(columns());
    products_.for_each_chunk([&](std::int64_t first, std::int64_t rows, const Product& product) {
      const auto* x = data_of<T>(in[0]) + first * shape_.height * shape_.width * shape_.channels;
      for_each(where, rows * shape_.pixels_of_row() * shape_.window(), GatherColumns<T>(shape_, rows, x, columns_of_x));
      const auto* dy = data_of<T>(in[1]) + first * shape_.pixels_of_row() * shape_.filters;
      product.run(where.stream, columns_of_x, dy, nullptr, mutable_floats(out[0]), parts.rest());
    });
    bias_.run<T>(where, in, out);
  }

 private:
  std::int64_t columns() const { return products_.chunk() * shape_.pixels_of_row() * shape_.window(); }

  Convolution shape_;
  ChunkProducts products_;
  BiasGradient bias_;
};

template <class T>
std::unique_ptr<Kernel> make_grouped_forward(const OpCall& call, const Convolution& shape) {
  const Split place(shape.y_height, shape.y_width, shape.filters, call.outputs[0].shape.elements());
  return cuda_kernel(call,
                     [shape, place, relu = call.attributes.flag("relu")](const Launch& where, Inputs in, Outputs out) {
                       for_each(where, out[0].elements(),
                                GroupedForward<T>{shape, place, data_of<T>(in[0]), data_of<T>(in[1]),
                                                  optional_data_of<T>(in, 2), mutable_data_of<T>(out[0]), relu});
                     });
}

template <class T>
std::unique_ptr<Kernel> make_grouped_grad_data(const OpCall& call, const Convolution& shape) {
  const Split place(shape.height, shape.width, shape.channels, call.outputs[0].shape.elements());
  return cuda_kernel(call, [shape, place](const Launch& where, Inputs in, Outputs out) {
    for_each(where, out[0].elements(),
             GroupedGradData<T>{shape, place, data_of<T>(in[0]), data_of<T>(in[1]), mutable_data_of<T>(out[0])});
  });
}

template <class T>
std::unique_ptr<Kernel> make_grouped_grad_weights(const OpCall& call, const Convolution& shape) {
  const BiasGradient bias(shape, call.attributes.flag("bias"));
  const Split place(shape.kernel_width, shape.channels / shape.groups, shape.filters, call.outputs[0].shape.elements());
  return cuda_kernel(
      call,
      [shape, place, bias](const Launch& where, Inputs in, Outputs out) {
        const auto count = out[0].elements(), all = shape.rows * shape.pixels_of_row();
        const GroupedGradWeights<T> gradient{shape,
                                             place,
                                             Divisor(shape.pixels_of_row(), all),
                                             Divisor(shape.y_width, all),
                                             data_of<T>(in[0]),
                                             data_of<T>(in[1]),
                                             mutable_floats(out[0])};
        launch(where, blocks_for(count, 1), kBlock, grouped_grad_weights_kernel<GroupedGradWeights<T>>, count,
               gradient);
        bias.run<T>(where, in, out);
      },
      bias.scratch_bytes());
}

}  // namespace

std::unique_ptr<Kernel> make_conv2d(const OpCall& call) {
  const Convolution shape(call.attributes, call.inputs[0].shape, call.inputs[1].shape, call.outputs[0].shape);
  if (auto kernel = library_conv2d(call, shape)) return kernel;
  return with_float_type(call.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    return shape.groups > 1 ? make_grouped_forward<T>(call, shape)
                            : object_kernel(call, ColumnsForward<T>(call, shape));
  });
}

std::unique_ptr<Kernel> make_conv2d_grad_data(const OpCall& call) {
  const Convolution shape(call.attributes, call.outputs[0].shape, call.inputs[1].shape, call.inputs[0].shape);
  if (auto kernel = library_conv2d_grad_data(call, shape)) return kernel;
  return with_float_type(call.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    return shape.groups > 1 ? make_grouped_grad_data<T>(call, shape)
                            : object_kernel(call, ColumnsGradData<T>(call, shape));
  });
}

std::unique_ptr<Kernel> make_conv2d_grad_weights(const OpCall& call) {
  const Convolution shape(call.attributes, call.inputs[0].shape, call.outputs[0].shape, call.inputs[1].shape);
  if (auto kernel = library_conv2d_grad_weights(call, shape)) return kernel;
  return with_float_type(call.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    return shape.groups > 1 ? make_grouped_grad_weights<T>(call, shape)
                            : object_kernel(call, ColumnsGradWeights<T>(call, shape));
  });
}

}  // namespace troupe::cuda
