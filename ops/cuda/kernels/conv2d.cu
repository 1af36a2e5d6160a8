#include <algorithm>
#include <memory>

#include "troupe/ops/core/matmul_precision.hpp"
#include "troupe/ops/core/memory_pool.hpp"
#include "troupe/ops/cuda/kernels/bias_gradient.cuh"
#include "troupe/ops/cuda/kernels/columns.cuh"
#include "troupe/ops/cuda/kernels/grouped_conv2d.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/library_conv2d.hpp"
#include "troupe/ops/cuda/product/product.hpp"

namespace troupe::cuda {

namespace {

/// The most memory for columns: the rows of a batch are computed in chunks whose columns fit.
constexpr std::int64_t kMaxColumnBytes = std::int64_t{256} << 20;

template <class T>
std::size_t bytes_of(std::int64_t count) {
  return MemoryPool::rounded(static_cast<std::size_t>(count) * sizeof(T));
}

/// The rows of a batch in chunks of equal size and a smaller last one.
struct Chunks {
  std::int64_t rows, chunk;

  explicit Chunks(const Convolution& shape)
      : rows(shape.rows), chunk(std::clamp<std::int64_t>(kMaxColumnBytes / bytes_of_row(shape), 1, shape.rows)) {}

  static std::int64_t bytes_of_row(const Convolution& shape) {
    return shape.pixels_of_row() * shape.window() * static_cast<std::int64_t>(sizeof(float));
  }
  std::int64_t last() const { return rows % chunk; }
  /// Calls visit(first row, rows) for each chunk.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::int64_t first = 0; first < rows; first += chunk) visit(first, std::min(chunk, rows - first));
  }
};

/// Products of one kind for all chunks: one for chunks of the full size, one for the last chunk.
class ChunkProducts {
 public:
  /// `shape_of(rows, first)` describes the product of a chunk.
  template <class ShapeOf>
  ChunkProducts(const Chunks& chunks, ShapeOf shape_of) {
    first_ = std::make_unique<Product>(shape_of(chunks.chunk, true));
    if (chunks.chunk < chunks.rows) next_ = std::make_unique<Product>(shape_of(chunks.chunk, false));
    if (chunks.last() > 0) last_ = std::make_unique<Product>(shape_of(chunks.last(), false));
    chunk_ = chunks.chunk;
  }

  std::size_t workspace_bytes() const {
    std::size_t bytes = 0;
    for (const auto* product : {first_.get(), next_.get(), last_.get()})
      if (product != nullptr) bytes = std::max(bytes, product->workspace_bytes());
    return bytes;
  }
  const Product& of(std::int64_t first, std::int64_t rows) const {
    if (rows < chunk_) return *last_;
    return first == 0 ? *first_ : *next_;
  }

 private:
  std::int64_t chunk_ = 0;
  std::unique_ptr<Product> first_, next_, last_;
};

ProductShape product_of(std::int64_t m, std::int64_t n, std::int64_t k, DType dtype, DType result) {
  ProductShape shape;
  shape.dtype = dtype;
  shape.result = result;
  shape.m = m;
  shape.n = n;
  shape.k = k;
  shape.tf32 = may_use_tf32();
  return shape;
}

/// y = columns(x) weights.
template <class T>
class ColumnsForward {
 public:
  ColumnsForward(const Convolution& shape, DType dtype, bool has_bias, bool relu)
      : shape_(shape), chunks_(shape), products_(chunks_, [&](std::int64_t rows, bool) {
          auto product = product_of(rows * shape.pixels_of_row(), shape.filters, shape.window(), dtype, dtype);
          if (has_bias) product.epilogue = relu ? Epilogue::relu_bias : Epilogue::bias;
          if (!has_bias && relu) product.epilogue = Epilogue::relu;
          return product;
        }) {}

  std::size_t scratch_bytes() const {
    const auto columns = shape_.is_pointwise() ? 0 : chunks_.chunk * shape_.pixels_of_row() * shape_.window();
    return bytes_of<T>(columns) + products_.workspace_bytes();
  }

  void run(const Launch& where, const T* x, const T* weights, const T* bias, T* y) const {
    auto* columns = reinterpret_cast<T*>(where.scratch);
    const auto of_row = shape_.pixels_of_row() * shape_.window();
    auto* workspace = where.scratch + (shape_.is_pointwise() ? 0 : bytes_of<T>(chunks_.chunk * of_row));
    chunks_.for_each([&](std::int64_t first, std::int64_t rows) {
      const auto* from = x + first * shape_.height * shape_.width * shape_.channels;
      if (!shape_.is_pointwise()) for_each(where, rows * of_row, GatherColumns<T>(shape_, rows, from, columns));
      products_.of(first, rows)
          .run(where.stream, shape_.is_pointwise() ? from : columns, weights, bias,
               y + first * shape_.pixels_of_row() * shape_.filters, workspace);
    });
  }

 private:
  Convolution shape_;
  Chunks chunks_;
  ChunkProducts products_;
};

/// The gradient of the columns is dy weights', in float32. Each element of dx is the sum of its copies in the columns.
template <class T>
class ColumnsGradData {
 public:
  ColumnsGradData(const Convolution& shape, DType dtype)
      : shape_(shape), chunks_(shape), products_(chunks_, [&](std::int64_t rows, bool) {
          auto product = product_of(rows * shape.pixels_of_row(), shape.window(), shape.filters, dtype, DType::float32);
          product.transpose_b = true;
          return product;
        }) {}

  std::size_t scratch_bytes() const {
    return bytes_of<float>(chunks_.chunk * shape_.pixels_of_row() * shape_.window()) + products_.workspace_bytes();
  }

  void run(const Launch& where, const T* dy, const T* weights, T* dx) const {
    auto* columns = reinterpret_cast<float*>(where.scratch);
    auto* workspace = where.scratch + scratch_bytes() - products_.workspace_bytes();
    const auto of_row = shape_.height * shape_.width * shape_.channels;
    chunks_.for_each([&](std::int64_t first, std::int64_t rows) {
      products_.of(first, rows)
          .run(where.stream, dy + first * shape_.pixels_of_row() * shape_.filters, weights, nullptr, columns,
               workspace);
      for_each(where, rows * of_row, SumColumns<T>(shape_, rows, columns, dx + first * of_row));
    });
  }

 private:
  Convolution shape_;
  Chunks chunks_;
  ChunkProducts products_;
};

/// The gradient of the weights is columns(x)' dy, in float32.
template <class T>
class ColumnsGradWeights {
 public:
  ColumnsGradWeights(const Convolution& shape, DType dtype)
      : shape_(shape), chunks_(shape), products_(chunks_, [&](std::int64_t rows, bool first) {
          auto product = product_of(shape.window(), shape.filters, rows * shape.pixels_of_row(), dtype, DType::float32);
          product.transpose_a = true;
          product.adds = !first;
          return product;
        }) {}

  std::size_t scratch_bytes() const {
    return bytes_of<T>(chunks_.chunk * shape_.pixels_of_row() * shape_.window()) + products_.workspace_bytes();
  }

  void run(const Launch& where, const T* x, const T* dy, float* dweights) const {
    auto* columns = reinterpret_cast<T*>(where.scratch);
    auto* workspace = where.scratch + scratch_bytes() - products_.workspace_bytes();
    const auto of_row = shape_.pixels_of_row() * shape_.window();
    chunks_.for_each([&](std::int64_t first, std::int64_t rows) {
      const auto* from = x + first * shape_.height * shape_.width * shape_.channels;
      for_each(where, rows * of_row, GatherColumns<T>(shape_, rows, from, columns));
      products_.of(first, rows)
          .run(where.stream, columns, dy + first * shape_.pixels_of_row() * shape_.filters, nullptr, dweights,
               workspace);
    });
  }

 private:
  Convolution shape_;
  Chunks chunks_;
  ChunkProducts products_;
};

template <class T>
const T* optional_data_of(Inputs in, std::size_t i) {
  return in.size() > i ? data_of<T>(in[i]) : nullptr;
}

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
std::unique_ptr<Kernel> make_columns_forward(const OpCall& call, const Convolution& shape) {
  const auto forward = std::make_shared<const ColumnsForward<T>>(shape, call.inputs[0].dtype, call.inputs.size() == 3,
                                                                 call.attributes.flag("relu"));
  return cuda_kernel(
      call,
      [forward](const Launch& where, Inputs in, Outputs out) {
        forward->run(where, data_of<T>(in[0]), data_of<T>(in[1]), optional_data_of<T>(in, 2),
                     mutable_data_of<T>(out[0]));
      },
      forward->scratch_bytes());
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
std::unique_ptr<Kernel> make_columns_grad_data(const OpCall& call, const Convolution& shape) {
  const auto backward = std::make_shared<const ColumnsGradData<T>>(shape, call.inputs[0].dtype);
  return cuda_kernel(
      call,
      [backward](const Launch& where, Inputs in, Outputs out) {
        backward->run(where, data_of<T>(in[0]), data_of<T>(in[1]), mutable_data_of<T>(out[0]));
      },
      backward->scratch_bytes());
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

template <class T>
std::unique_ptr<Kernel> make_columns_grad_weights(const OpCall& call, const Convolution& shape) {
  const BiasGradient bias(shape, call.attributes.flag("bias"));
  const auto backward = std::make_shared<const ColumnsGradWeights<T>>(shape, call.inputs[0].dtype);
  return cuda_kernel(
      call,
      [backward, bias](const Launch& where, Inputs in, Outputs out) {
        backward->run(where, data_of<T>(in[0]), data_of<T>(in[1]), mutable_floats(out[0]));
        bias.run<T>(where, in, out);
      },
      std::max(backward->scratch_bytes(), bias.scratch_bytes()));
}

}  // namespace

std::unique_ptr<Kernel> make_conv2d(const OpCall& call) {
  const Convolution shape(call.attributes, call.inputs[0].shape, call.inputs[1].shape, call.outputs[0].shape);
  if (auto kernel = library_conv2d(call, shape)) return kernel;
  return with_float_type(call.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    return shape.groups > 1 ? make_grouped_forward<T>(call, shape) : make_columns_forward<T>(call, shape);
  });
}

std::unique_ptr<Kernel> make_conv2d_grad_data(const OpCall& call) {
  const Convolution shape(call.attributes, call.outputs[0].shape, call.inputs[1].shape, call.inputs[0].shape);
  if (auto kernel = library_conv2d_grad_data(call, shape)) return kernel;
  return with_float_type(call.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    return shape.groups > 1 ? make_grouped_grad_data<T>(call, shape) : make_columns_grad_data<T>(call, shape);
  });
}

std::unique_ptr<Kernel> make_conv2d_grad_weights(const OpCall& call) {
  const Convolution shape(call.attributes, call.inputs[0].shape, call.outputs[0].shape, call.inputs[1].shape);
  if (auto kernel = library_conv2d_grad_weights(call, shape)) return kernel;
  return with_float_type(call.inputs[0].dtype, [&](auto element) {
    using T = decltype(element);
    return shape.groups > 1 ? make_grouped_grad_weights<T>(call, shape) : make_columns_grad_weights<T>(call, shape);
  });
}

}  // namespace troupe::cuda
