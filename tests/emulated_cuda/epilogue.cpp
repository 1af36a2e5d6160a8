#include "troupe/tests/emulated_cuda/epilogue.hpp"

#include <cmath>
#include <vector>

#include "troupe/tests/emulated_cuda/matrix.hpp"

namespace emulated_cuda {

namespace {

constexpr float kSqrt2OverPi = 0.7978845608028654f;
constexpr float kCubic = 0.044715f;

// The tanh approximation that cuBLASLt uses. Source: Hendrycks and Gimpel, "Gaussian error linear units" (2016).
float gelu(float x) {
  return 0.5f * x * (1 + std::tanh(kSqrt2OverPi * (x + kCubic * x * x * x)));
}

float gelu_slope(float x) {
  const float t = std::tanh(kSqrt2OverPi * (x + kCubic * x * x * x));
  return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * kSqrt2OverPi * (1 + 3 * kCubic * x * x);
}

/// The mask of a relu: one bit for every element, down the columns.
class ReluMask {
 public:
  ReluMask(const MatmulDesc& desc, std::int32_t batch)
      : bytes_(static_cast<unsigned char*>(desc.aux) + batch * desc.aux_batch_stride / 8),
        ld_(static_cast<std::size_t>(desc.aux_ld)) {}

  bool get(std::size_t row, std::size_t column) const {
    const std::size_t bit = column * ld_ + row;
    return bytes_[bit / 8] >> bit % 8 & 1;
  }
  void set(std::size_t row, std::size_t column, bool value) {
    const std::size_t bit = column * ld_ + row;
    if (bit % 8 == 0) bytes_[bit / 8] = 0;
    bytes_[bit / 8] = static_cast<unsigned char>(bytes_[bit / 8] | value << bit % 8);
  }

 private:
  unsigned char* bytes_;
  std::size_t ld_;
};

/// The operations on an element between the product and D.
class Epilogue {
 public:
  Epilogue(const MatmulCall& call, std::int32_t batch)
      : kind_(call.desc.epilogue),
        d_type_(call.d_layout.type),
        bias_(static_cast<char*>(call.desc.bias) + batch * call.desc.bias_batch_stride * element_bytes()),
        mask_(call.desc, batch),
        aux_(static_cast<char*>(call.desc.aux) + batch * call.desc.aux_batch_stride * element_bytes()),
        aux_ld_(static_cast<std::size_t>(call.desc.aux_ld)) {}

  float apply(float x, std::size_t row, std::size_t column) {
    if (has(kind_, kBias)) x += load(bias_, d_type_, row);
    if (has(kind_, kRelu)) {
      if (has(kind_, kAux)) mask_.set(row, column, x > 0);
      return x > 0 ? x : 0;
    }
    if (has(kind_, kGelu)) {
      if (has(kind_, kAux)) store(aux_, d_type_, column * aux_ld_ + row, x);
      return gelu(x);
    }
    if (has(kind_, kDrelu)) return mask_.get(row, column) ? x : 0;
    if (has(kind_, kDgelu)) return x * gelu_slope(load(aux_, d_type_, column * aux_ld_ + row));
    return x;
  }

  bool sums_rows() const { return has(kind_, kBiasGradient); }
  void write_bias_gradient(std::size_t row, float sum) { store(bias_, d_type_, row, sum); }

 private:
  std::int64_t element_bytes() const { return static_cast<std::int64_t>(bytes_of(d_type_)); }

  cublasLtEpilogue_t kind_;
  cudaDataType_t d_type_;
  void* bias_;
  ReluMask mask_;
  void* aux_;
  std::size_t aux_ld_;
};

}  // namespace

void apply_epilogue(const MatmulCall& call, std::int32_t batch, const float* product) {
  const MatmulShape& shape = call.shape;
  const void* const c = matrix_of(call.c, call.c_layout, batch);
  void* const d = const_cast<void*>(matrix_of(call.d, call.d_layout, batch));
  Epilogue epilogue(call, batch);
  std::vector<float> row_sums(shape.m);
  for (std::size_t column = 0; column < shape.n; ++column) {
    for (std::size_t row = 0; row < shape.m; ++row) {
      float x = call.alpha * product[row * shape.n + column];
      if (call.beta != 0) x += call.beta * load(c, call.c_layout.type, index_of(call.c_layout, row, column));
      x = epilogue.apply(x, row, column);
      store(d, call.d_layout.type, index_of(call.d_layout, row, column), x);
      row_sums[row] += x;
    }
  }
  for (std::size_t row = 0; epilogue.sums_rows() && row < shape.m; ++row) {
    epilogue.write_bias_gradient(row, row_sums[row]);
  }
}

void write_operand_gradient(const MatmulCall& call, std::int32_t batch) {
  const bool of_a = has(call.desc.epilogue, kBiasGradientA);
  if (!of_a && !has(call.desc.epilogue, kBiasGradientB)) return;
  const MatrixLayout& layout = of_a ? call.a_layout : call.b_layout;
  const void* const matrix = matrix_of(of_a ? call.a : call.b, layout, batch);
  const bool transposed = (of_a ? call.desc.transpose_a : call.desc.transpose_b) != CUBLAS_OP_N;
  // The sum is over k, which is the columns of A and the rows of B.
  const bool k_is_row = of_a == transposed;
  const std::int64_t offset =
      batch * call.desc.bias_batch_stride * static_cast<std::int64_t>(bytes_of(call.d_layout.type));
  for (std::size_t i = 0; i < (of_a ? call.shape.m : call.shape.n); ++i) {
    float sum = 0;
    for (std::size_t k = 0; k < call.shape.k; ++k) {
      sum += load(matrix, layout.type, k_is_row ? index_of(layout, k, i) : index_of(layout, i, k));
    }
    store(static_cast<char*>(call.desc.bias) + offset, call.d_layout.type, i, sum);
  }
}

}  // namespace emulated_cuda
