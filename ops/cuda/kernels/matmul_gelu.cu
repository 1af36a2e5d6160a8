#include <memory>
#include <string>
#include <vector>

#include "troupe/ops/cuda/device/functions.cuh"
#include "troupe/ops/cuda/kernels/column_sums.cuh"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/kernels/map.cuh"
#include "troupe/ops/cuda/product/matmul.hpp"
#include "troupe/ops/cuda/product/narrow_product.hpp"
#include "troupe/ops/cuda/product/product_timing.hpp"
#include "troupe/ops/fused/matmul_then_gelu.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe::cuda {

namespace {

GeluKernels kernels() {
  return {make_matmul, make_gelu_tanh, make_gelu_tanh_grad, make_reduce_sum};
}

/// Launches the gelu of a product by a separate kernel, to be timed. `from` is the product.
template <class T>
void launch_gelu(const Launch& where, const ProductShape& shape, const std::byte* from, std::byte* y) {
  for_each(where, shape.m * shape.n,
           MapOne<GeluTanh, T>{{}, reinterpret_cast<const T*>(from), reinterpret_cast<T*>(y)});
}

/// Launches the gelu's gradient by a separate kernel, in place, and the sums of its columns unless `sums` is null.
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

/// Whether the product with a gelu in its epilogue is faster than separate kernels, by measuring both.
bool is_faster(const ProductShape& shape, const Product& fused) {
  static const std::vector<std::string> kWays{"epilogue", "kernels"};
  auto without = shape;
  without.epilogue = without_gelu(shape.epilogue);
  const Product plain(without);
  ProductTiming timing(shape, Product::kMaxWorkspace);
  const auto measure = [&](std::size_t way) {
    return timing.measure([&](const ProductMemory& memory) {
      if (way == 0)
        fused.run(memory.stream, memory.a, memory.b, memory.bias, memory.y, memory.workspace, memory.aux);
      else
        launch_separately(shape, plain, memory);
    });
  };
  return gpu_choices().choose(device_name() + ":way:" + shape.key(), kWays, measure) == 0;
}

/// The product with a gelu in its epilogue, or null. cuBLASLt does not document the accuracy of that gelu, so it is
/// used only if the product is rounded anyway.
std::shared_ptr<const Product> fused_product(ProductShape shape, Epilogue epilogue) {
  if (!shape.tf32 && !is_16_bit(shape.dtype)) return nullptr;
  if (NarrowProduct::is_surely_faster(shape)) return nullptr;
  shape.epilogue = epilogue;
  // cuBLASLt requires rows of whole groups of 8 elements.
  if (shape.aux_bytes() > 0 && shape.n % 8 != 0) return nullptr;
  std::shared_ptr<const Product> fused = Product::if_supported(shape);
  return fused != nullptr && is_faster(shape, *fused) ? fused : nullptr;
}

Epilogue forward_epilogue(bool has_bias, bool keeps_product) {
  if (has_bias) return keeps_product ? Epilogue::gelu_bias_kept : Epilogue::gelu_bias;
  return keeps_product ? Epilogue::gelu_kept : Epilogue::gelu;
}

}  // namespace

std::unique_ptr<Kernel> make_matmul_gelu_tanh(const OpCall& call) {
  const bool has_bias = call.inputs.size() == 3, keeps_product = call.outputs.size() == 2;
  const auto product = fused_product(shape_of_matmul(call), forward_epilogue(has_bias, keeps_product));
  if (product == nullptr) return make_matmul_then_gelu_tanh(call, kernels());
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
  const auto shape = shape_of_matmul({&kMatmul, call.attributes, {call.inputs[0], call.inputs[1]}, {call.outputs[0]}});
  const auto product = fused_product(shape, sums_rows ? Epilogue::gelu_grad_bias : Epilogue::gelu_grad);
  if (product == nullptr) return make_matmul_then_gelu_tanh_grad(call, kernels());
  return cuda_kernel(
      call,
      [product, sums_rows](const Launch& where, Inputs in, Outputs out) {
        product->run(where.stream, in[0].address(), in[1].address(), sums_rows ? out[1].address() : nullptr,
                     out[0].address(), where.scratch, in[2].address());
      },
      product->workspace_bytes());
}

}  // namespace troupe::cuda
