#include <algorithm>
#include <memory>

#include "troupe/ops/cuda/column_sums.cuh"
#include "troupe/ops/cuda/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels.hpp"
#include "troupe/ops/cuda/matmul.hpp"
#include "troupe/ops/cuda/narrow_product.cuh"
#include "troupe/ops/cuda/narrow_product.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe::cuda {

namespace {

/// A byte of the mask from what a relu made, as cuBLASLt writes it.
struct ReluMaskByte {
  const float* y;
  std::int64_t columns, bytes_of_row;
  std::uint8_t* mask;

  __device__ void operator()(std::int64_t i) const {
    const auto row = i / bytes_of_row, first = i % bytes_of_row * 8;
    unsigned bits = 0;
    for (int bit = 0; bit < 8; ++bit)
      if (first + bit < columns && y[row * columns + first + bit] > 0.0F) bits |= 1U << bit;
    mask[i] = static_cast<std::uint8_t>(bits);
  }
};

/// A matmul, and then what an epilogue of cuBLASLt would do.
class MatmulThenMask final : public Kernel {
 public:
  explicit MatmulThenMask(const OpCall& call)
      : product_(make_matmul({&kMatmul, call.attributes, call.inputs, {call.outputs[0]}})) {}

  std::size_t scratch_bytes() const override { return product_->scratch_bytes(); }
  void run(const KernelContext& context, Inputs in, Outputs out) override {
    product_->run(context, in, out.first(1));
    const auto where = launch_on(context, "matmul_relu_mask", in, out);
    for_each(where, out[1].elements(),
             ReluMaskByte{floats(out[0]), out[0].shape().back(0), out[1].shape().back(0),
                          mutable_data_of<std::uint8_t>(out[1])});
  }

 private:
  std::unique_ptr<Kernel> product_;
};

class MatmulThenReluGradBias final : public Kernel {
 public:
  explicit MatmulThenReluGradBias(const OpCall& call)
      : product_(make_matmul(
            {&kMatmul, call.attributes, {call.inputs.begin(), call.inputs.begin() + 2}, {call.outputs[0]}})),
        gradient_(make_relu_grad_bias({&kReluGradBias, {}, {call.outputs[0], call.inputs[2]}, call.outputs})) {}

  std::size_t scratch_bytes() const override { return std::max(product_->scratch_bytes(), gradient_->scratch_bytes()); }
  void run(const KernelContext& context, Inputs in, Outputs out) override {
    product_->run(context, in.first(2), out.first(1));
    // In place: every element is read by the thread that then writes it.
    const Tensor dy_and_y[] = {out[0], in[2]};
    gradient_->run(context, dy_and_y, out);
  }

 private:
  std::unique_ptr<Kernel> product_, gradient_;
};

/// The product of a [rows, at most kTerms] and b, its relu gradient, and the sums of its columns, in one kernel. A
/// thread keeps the column of b that it needs.
template <int kTerms>
struct FewTermsReluGrad {
  const float* a;
  NarrowFactor<float> b;
  const float* y;
  float* dx;

  struct OfColumn {
    const FewTermsReluGrad all;
    float factor[kTerms];

    __device__ void operator()(std::int64_t row, std::int64_t column, float (&numbers)[1]) const {
      const auto i = row * all.b.n + column, k = all.b.k;
      float sum = 0.0F;
      for (int term = 0; term < kTerms; ++term)
        if (term < k) sum = fmaf(load_constant(all.a, row * k + term), factor[term], sum);
      numbers[0] = load_constant(all.y, i) > 0.0F ? sum : 0.0F;
      all.dx[i] = numbers[0];
    }
  };
  __device__ OfColumn of_column(std::int64_t column) const {
    OfColumn of_column{*this, {}};
    for (int term = 0; term < kTerms; ++term) of_column.factor[term] = term < b.k ? b.at(term, column) : 0.0F;
    return of_column;
  }
};

template <int kTerms>
std::unique_ptr<Kernel> few_terms_kernel_of(const OpCall& call, const ProductShape& shape) {
  const ColumnSums<> sums(shape.m, shape.n);
  return cuda_kernel(
      call,
      [sums, shape](const Launch& where, Inputs in, Outputs out) {
        const NarrowFactor<float> b{floats(in[1]), shape.k, shape.n, shape.transpose_b};
        sums.run(where, where.scratch,
                 FewTermsReluGrad<kTerms>{floats(in[0]), b, floats(in[2]), mutable_floats(out[0])},
                 StoreColumn<>{mutable_floats(out[1]), shape.n});
      },
      sums.scratch_bytes());
}

std::unique_ptr<Kernel> few_terms_kernel_of(const OpCall& call, const ProductShape& shape) {
  if (shape.k <= 4) return few_terms_kernel_of<4>(call, shape);
  if (shape.k <= 8) return few_terms_kernel_of<8>(call, shape);
  if (shape.k <= 16) return few_terms_kernel_of<16>(call, shape);
  static_assert(NarrowProduct::kMostColumns == 32);
  return few_terms_kernel_of<32>(call, shape);
}

}  // namespace

std::unique_ptr<Kernel> make_matmul_relu_mask(const OpCall& call) {
  auto shape = shape_of_matmul(call);
  if (NarrowProduct::is_surely_faster(shape)) return std::make_unique<MatmulThenMask>(call);
  shape.epilogue = shape.epilogue == Epilogue::relu_bias ? Epilogue::relu_bias_mask : Epilogue::relu_mask;
  const std::shared_ptr<const Product> product = Product::if_supported(shape);
  if (product == nullptr) return std::make_unique<MatmulThenMask>(call);
  return cuda_kernel(
      call,
      [product](const Launch& where, Inputs in, Outputs out) {
        product->run(where.stream, in[0].address(), in[1].address(), in.size() == 3 ? in[2].address() : nullptr,
                     out[0].address(), where.scratch, out[1].address());
      },
      product->workspace_bytes());
}

std::unique_ptr<Kernel> make_matmul_relu_grad_bias(const OpCall& call) {
  auto shape = shape_of_matmul(call);
  if (NarrowProduct::is_surely_faster(shape) && shape.k <= NarrowProduct::kMostColumns)
    return few_terms_kernel_of(call, shape);
  if (NarrowProduct::is_surely_faster(shape)) return std::make_unique<MatmulThenReluGradBias>(call);
  shape.epilogue = Epilogue::relu_grad_bias;
  const std::shared_ptr<const Product> product = Product::if_supported(shape);
  if (product == nullptr) return std::make_unique<MatmulThenReluGradBias>(call);
  return cuda_kernel(
      call,
      [product](const Launch& where, Inputs in, Outputs out) {
        product->run(where.stream, in[0].address(), in[1].address(), out[1].address(), out[0].address(), where.scratch,
                     in[3].address());
      },
      product->workspace_bytes());
}

}  // namespace troupe::cuda
