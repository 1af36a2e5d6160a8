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
      const bool passes = load_constant(all.y, row * all.b.n + column) > 0.0F;
      float sum = 0.0F;
      for (int term = 0; term < kTerms; ++term) sum = fmaf(term_of_row(all.a, row, term, all.b.k), factor[term], sum);
      numbers[0] = passes ? sum : 0.0F;
    }
    __device__ void keep(std::int64_t row, std::int64_t column, const float (&numbers)[1]) const {
      all.dx[row * all.b.n + column] = numbers[0];
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

std::unique_ptr<Kernel> make_matmul_relu_grad_bias(const OpCall& call) {
  const auto shape = shape_of_matmul(call);
  if (NarrowProduct::is_surely_faster(shape) && shape.k <= NarrowProduct::kMostColumns)
    return few_terms_kernel_of(call, shape);
  return std::make_unique<MatmulThenReluGradBias>(call);
}

}  // namespace troupe::cuda
