#include <algorithm>
#include <string>

#include "troupe/ops/cuda/device/functions.cuh"
#include "troupe/ops/cuda/kernels/column_sums.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/map.cuh"
#include "troupe/ops/cuda/product/narrow_product.hpp"
#include "troupe/ops/cuda/product/product_timing.hpp"
#include "troupe/ops/fused/matmul_then_gelu.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe::cuda {

namespace {

/// Sets m, k, the strides and the size of the batch in the shape of a batch of products. The last two axes of each
/// tensor are a matrix, and all leading axes are the batch.
void describe_batch(const OpCall& call, ProductShape& shape) {
  const auto& a = call.inputs[0].shape;
  const auto& b = call.inputs[1].shape;
  const auto& y = call.outputs[0].shape;
  shape.m = y.back(1);
  shape.k = shape.transpose_b ? b.back(0) : b.back(1);
  shape.stride_a = a.back(0) * a.back(1);
  shape.stride_b = b.back(0) * b.back(1);
  shape.stride_y = y.back(0) * y.back(1);
  shape.batch = y.elements() / shape.stride_y;
}

/// Returns the shape of the product of a matmul, or of an op whose first inputs, attributes and first result are those
/// of a matmul.
ProductShape shape_of_matmul(const OpCall& call) {
  ProductShape shape;
  shape.transpose_a = call.attributes.flag("transpose_a");
  shape.transpose_b = call.attributes.flag("transpose_b");
  shape.dtype = call.inputs[0].dtype;
  shape.result = call.outputs[0].dtype;
  shape.n = call.outputs[0].shape.back(0);
  const bool has_bias = call.inputs.size() == 3, relu = call.attributes.flag("relu");
  if (has_bias) shape.epilogue = relu ? Epilogue::relu_bias : Epilogue::bias;
  if (!has_bias && relu) shape.epilogue = Epilogue::relu;
  if (call.inputs[1].shape.rank() > 2) {
    describe_batch(call, shape);
    return shape;
  }
  // All leading axes of a and of the result are together the rows of one matrix.
  shape.m = call.outputs[0].shape.elements() / shape.n;
  shape.k = call.inputs[0].shape.elements() / shape.m;
  return shape;
}

/// Returns a call of matmul with the attributes, the first two inputs and the first result of `call`.
OpCall matmul_of(const OpCall& call) {
  return {&kMatmul, call.attributes, {call.inputs.begin(), call.inputs.begin() + 2}, {call.outputs[0]}};
}

/// Makes a kernel of a matmul, outer_sum or matmul_relu_grad that runs OwnProduct, which is NarrowProduct or
/// SmallProduct. A third input is the bias or, for matmul_relu_grad, the result of the relu.
template <class OwnProduct>
std::unique_ptr<Kernel> kernel_of(const OpCall& call, const OwnProduct& product) {
  const bool is_gradient = call.op == &kMatmulReluGrad;
  return cuda_kernel(
      call,
      [product, is_gradient](const Launch& where, Inputs in, Outputs out) {
        const void* const third = in.size() == 3 ? in[2].address() : nullptr;
        product.run(where, in[0].address(), in[1].address(), is_gradient ? nullptr : third, out[0].address(),
                    is_gradient ? third : nullptr);
      },
      product.scratch_bytes());
}

/// Measures OwnProduct, which must support the shape, and cuBLASLt on the device. Returns a kernel of OwnProduct if
/// choose_on_device() prefers it to cuBLASLt, by default because it is faster, else null. Also returns null if
/// OwnProduct needs more scratch memory than cuBLASLt may use.
template <class OwnProduct>
std::unique_ptr<Kernel> kernel_if_faster(const OpCall& call, const ProductShape& shape) {
  const Product library(shape);
  const OwnProduct own(shape);
  if (own.scratch_bytes() > Product::kMaxWorkspace) return nullptr;
  ProductTiming timing(shape, std::max(own.scratch_bytes(), library.workspace_bytes()));
  const auto measure = [&](std::size_t candidate) {
    return timing.measure([&](const ProductMemory& memory) {
      if (candidate == 0)
        library.run(memory.stream, memory.a, memory.b, memory.bias, memory.y, memory.workspace);
      else
        own.run({memory.stream, memory.workspace, {nullptr, "matmul"}}, memory.a, memory.b,
                library.has_bias() ? memory.bias : nullptr, memory.y);
    });
  };
  const std::string candidates[] = {"cublas", OwnProduct::kName};
  return choose_on_device("way:" + shape.key(), candidates, measure) == 1 ? kernel_of(call, own) : nullptr;
}

/// Makes a kernel of a matmul, outer_sum or matmul_relu_grad, whose product has the given shape, that runs
/// NarrowProduct or SmallProduct. Returns null if neither supports the shape, or if kernel_if_faster() returns null.
std::unique_ptr<Kernel> own_product_kernel(const OpCall& call, const ProductShape& shape) {
  if (NarrowProduct::is_surely_faster(shape)) return kernel_of(call, NarrowProduct(shape));
  if (SmallProduct::is_surely_faster(shape)) return kernel_of(call, SmallProduct(shape));
  if (NarrowProduct::suits(shape)) return kernel_if_faster<NarrowProduct>(call, shape);
  return SmallProduct::suits(shape) ? kernel_if_faster<SmallProduct>(call, shape) : nullptr;
}

/// The kernel of a matmul or outer_sum that runs a product of cuBLASLt. A third input of the op is the bias.
struct LibraryProduct {
  Product product;

  std::size_t scratch_bytes() const { return product.workspace_bytes(); }
  void run(const Launch& where, Inputs in, Outputs out) const {
    product.run(where.stream, in[0].address(), in[1].address(), in.size() == 3 ? in[2].address() : nullptr,
                out[0].address(), where.scratch);
  }
};

std::unique_ptr<Kernel> product_kernel(const OpCall& call, const ProductShape& shape) {
  if (auto kernel = own_product_kernel(call, shape)) return kernel;
  return object_kernel(call, LibraryProduct{Product(shape)});
}

/// A kernel of matmul_relu_grad, the gradient of a relu whose dy is a matrix product. Runs two kernels: the product,
/// then the gradient of the relu, which overwrites the product.
class MatmulThenReluGrad final : public Kernel {
 public:
  explicit MatmulThenReluGrad(const OpCall& call)
      : product_(make_matmul(matmul_of(call))),
        gradient_(make_relu_grad({&kReluGrad, {}, {call.outputs[0], call.inputs[2]}, call.outputs})) {}

  std::size_t scratch_bytes() const override { return product_->scratch_bytes(); }
  void run(const KernelContext& context, Inputs in, Outputs out) override {
    product_->run(context, in.first(2), out);
    // The gradient may overwrite its input dy, because the thread that writes an element is the one that reads it.
    const Tensor dy_and_y[] = {out[0], in[2]};
    gradient_->run(context, dy_and_y, out);
  }

 private:
  std::unique_ptr<Kernel> product_, gradient_;
};

/// Launches y = gelu(from), where `from` is the product, as a separate kernel, for a measurement.
template <class T>
void launch_gelu(const Launch& where, const ProductShape& shape, const std::byte* from, std::byte* y) {
  for_each(where, shape.m * shape.n,
           MapOne<GeluTanh, T>{{}, reinterpret_cast<const T*>(from), reinterpret_cast<T*>(y)});
}

/// Launches the gradient of the gelu at x as a separate kernel, for a measurement. `dx` holds the product and is
/// overwritten by the gradient. Unless `sums` is null, also launches the sums of the columns of the gradient.
template <class T>
void launch_gelu_grad(const Launch& where, const ProductShape& shape, std::byte* dx, const std::byte* x,
                      std::byte* sums) {
  auto* const gradient = reinterpret_cast<T*>(dx);
  for_each(where, shape.m * shape.n, MapTwo<GeluTanhGrad, T>{{}, gradient, reinterpret_cast<const T*>(x), gradient});
  if (sums != nullptr)
    ColumnSums<>(shape.m, shape.n)
        .run(where, where.scratch, ElementTerms<T>{gradient, shape.n},
             StoreColumn<>{reinterpret_cast<float*>(sums), shape.n});
}

bool is_gradient(Epilogue epilogue) {
  return epilogue == Epilogue::gelu_grad || epilogue == Epilogue::gelu_grad_bias;
}

Epilogue without_gelu(Epilogue epilogue) {
  return epilogue == Epilogue::gelu_bias || epilogue == Epilogue::gelu_bias_kept ? Epilogue::bias : Epilogue::none;
}

void launch_separately(const ProductShape& shape, const Product& plain, const ProductMemory& memory) {
  const bool keeps = shape.aux_bytes() > 0 && !is_gradient(shape.epilogue);
  auto* const product = keeps ? memory.aux : memory.y;
  plain.run(memory.stream, memory.a, memory.b, memory.bias, product, memory.workspace);
  const Launch where{memory.stream, memory.workspace, {nullptr, "matmul_gelu_tanh"}};
  auto* const sums = shape.epilogue == Epilogue::gelu_grad_bias ? memory.bias : nullptr;
  with_float_type(shape.result, [&](auto element) {
    using T = decltype(element);
    if (is_gradient(shape.epilogue))
      launch_gelu_grad<T>(where, shape, memory.y, memory.aux, sums);
    else
      launch_gelu<T>(where, shape, product, memory.y);
  });
}

/// Whether choose_on_device() prefers the product with a gelu, or the gradient of one, in its epilogue to separate
/// kernels. By default it measures both on the device and takes the faster way.
bool epilogue_is_faster(const ProductShape& shape, const Product& fused) {
  auto without = shape;
  without.epilogue = without_gelu(shape.epilogue);
  const Product plain(without);
  ProductTiming timing(shape, Product::kMaxWorkspace);
  const auto measure = [&](std::size_t candidate) {
    return timing.measure([&](const ProductMemory& memory) {
      if (candidate == 1)
        launch_separately(shape, plain, memory);
      else if (shape.epilogue == Epilogue::gelu_grad_bias)
        fused.run_with_sums(memory.stream, memory.a, memory.b, memory.bias, memory.y, memory.workspace, memory.aux);
      else
        fused.run(memory.stream, memory.a, memory.b, memory.bias, memory.y, memory.workspace, memory.aux);
    });
  };
  const std::string candidates[] = {"epilogue", "kernels"};
  return choose_on_device("way:" + shape.key(), candidates, measure) == 0;
}

/// Returns the product of cuBLASLt with `epilogue`, a gelu or the gradient of one. Returns null if cuBLASLt does not
/// support it, if NarrowProduct is surely faster, if separate kernels are faster, or if the product is computed in full
/// float32: cuBLASLt does not document the accuracy of its gelu, so that gelu is used only if the factors are rounded
/// to TF32 or have 16 bits.
std::shared_ptr<const Product> fused_product(ProductShape shape, Epilogue epilogue) {
  if (!shape.tf32 && !is_16_bit(shape.dtype)) return nullptr;
  if (NarrowProduct::is_surely_faster(shape)) return nullptr;
  shape.epilogue = epilogue;
  // For the auxiliary tensor cuBLASLt requires rows whose length is a multiple of 8 elements.
  if (shape.aux_bytes() > 0 && shape.n % 8 != 0) return nullptr;
  std::shared_ptr<const Product> fused = Product::if_supported(shape);
  return fused != nullptr && epilogue_is_faster(shape, *fused) ? fused : nullptr;
}

Epilogue forward_epilogue(bool has_bias, bool keeps_product) {
  if (has_bias) return keeps_product ? Epilogue::gelu_bias_kept : Epilogue::gelu_bias;
  return keeps_product ? Epilogue::gelu_kept : Epilogue::gelu;
}

GeluKernels gelu_kernels() {
  return {make_matmul, make_gelu_tanh, make_gelu_tanh_grad, make_reduce_sum};
}

}  // namespace

std::unique_ptr<Kernel> make_matmul(const OpCall& call) {
  return product_kernel(call, shape_of_matmul(call));
}

std::unique_ptr<Kernel> make_outer_sum(const OpCall& call) {
  ProductShape shape;
  shape.transpose_a = true;
  shape.dtype = call.inputs[0].dtype;
  shape.result = call.outputs[0].dtype;
  shape.m = call.inputs[0].shape.back(0);
  shape.n = call.inputs[1].shape.back(0);
  shape.k = call.inputs[0].shape.elements() / shape.m;
  return product_kernel(call, shape);
}

std::unique_ptr<Kernel> make_matmul_relu_grad(const OpCall& call) {
  if (auto kernel = own_product_kernel(call, shape_of_matmul(matmul_of(call)))) return kernel;
  return std::make_unique<MatmulThenReluGrad>(call);
}

std::unique_ptr<Kernel> make_matmul_gelu_tanh(const OpCall& call) {
  const bool has_bias = call.inputs.size() == 3, keeps_product = call.outputs.size() == 2;
  const auto product = fused_product(shape_of_matmul(call), forward_epilogue(has_bias, keeps_product));
  if (product == nullptr) return make_matmul_then_gelu_tanh(call, gelu_kernels());
  return cuda_kernel(
      call,
      [product, has_bias, keeps_product](const Launch& where, Inputs in, Outputs out) {
        product->run(where.stream, in[0].address(), in[1].address(), has_bias ? in[2].address() : nullptr,
                     out[0].address(), where.scratch, keeps_product ? out[1].address() : nullptr);
      },
      product->workspace_bytes());
}

std::unique_ptr<Kernel> make_matmul_gelu_tanh_grad(const OpCall& call) {
  const bool sums_rows = call.outputs.size() == 2;
  const auto shape = shape_of_matmul(matmul_of(call));
  const auto product = fused_product(shape, sums_rows ? Epilogue::gelu_grad_bias : Epilogue::gelu_grad);
  if (product == nullptr) return make_matmul_then_gelu_tanh_grad(call, gelu_kernels());
  return cuda_kernel(
      call,
      [product, sums_rows](const Launch& where, Inputs in, Outputs out) {
        const auto *a = in[0].address(), *b = in[1].address(), *aux = in[2].address();
        if (sums_rows)
          product->run_with_sums(where.stream, a, b, out[1].address(), out[0].address(), where.scratch, aux);
        else
          product->run(where.stream, a, b, nullptr, out[0].address(), where.scratch, aux);
      },
      product->workspace_bytes());
}

}  // namespace troupe::cuda
