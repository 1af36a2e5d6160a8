#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "troupe/ops/core/matmul_precision.hpp"
#include "troupe/ops/cuda/device/cuda_kernel.hpp"
#include "troupe/ops/cuda/kernels/kernels.hpp"
#include "troupe/ops/cuda/product/matmul.hpp"
#include "troupe/ops/cuda/product/narrow_product.hpp"
#include "troupe/ops/cuda/product/product_timing.hpp"
#include "troupe/ops/cuda/product/small_product.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe::cuda {

namespace {

/// Describes the last two axes of each input as matrices, with all leading axes as one batch axis.
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

}  // namespace

ProductShape shape_of_matmul(const OpCall& call) {
  ProductShape shape;
  shape.transpose_a = call.attributes.flag("transpose_a");
  shape.transpose_b = call.attributes.flag("transpose_b");
  shape.tf32 = may_use_tf32();
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
  // All leading axes are the rows of one matrix.
  shape.m = call.outputs[0].shape.elements() / shape.n;
  shape.k = call.inputs[0].shape.elements() / shape.m;
  return shape;
}

namespace {

/// A kernel of a matmul or of a matmul_relu_grad, by NarrowProduct or SmallProduct. The third input is the bias or the
/// relu's result.
template <class SomeProduct>
std::unique_ptr<Kernel> kernel_of(const OpCall& call, const SomeProduct& product, std::size_t scratch_bytes) {
  const bool is_gradient = call.op == &kMatmulReluGrad;
  return cuda_kernel(
      call,
      [product, is_gradient](const Launch& where, Inputs in, Outputs out) {
        const void* const third = in.size() == 3 ? in[2].address() : nullptr;
        product.run(where, in[0].address(), in[1].address(), is_gradient ? nullptr : third, out[0].address(),
                    is_gradient ? third : nullptr);
      },
      scratch_bytes);
}

std::unique_ptr<Kernel> narrow_kernel(const OpCall& call, const NarrowProduct& product) {
  return kernel_of(call, product, product.scratch_bytes());
}

std::unique_ptr<Kernel> small_kernel(const OpCall& call, const SmallProduct& product) {
  return kernel_of(call, product, 0);
}

/// Whether NarrowProduct or SmallProduct, named `algorithm`, is faster than cuBLASLt for a shape that it supports, by
/// measuring both.
bool is_faster(const std::string& algorithm, const ProductShape& shape, const Product& product,
               std::size_t scratch_bytes,
               const std::function<void(const Launch&, const ProductMemory&, const void* bias)>& run) {
  if (scratch_bytes > Product::kMaxWorkspace) return false;
  ProductTiming timing(shape, std::max(scratch_bytes, product.workspace_bytes()));
  const auto run_product = [&](const ProductMemory& memory) {
    product.run(memory.stream, memory.a, memory.b, memory.bias, memory.y, memory.workspace);
  };
  const auto run_own = [&](const ProductMemory& memory) {
    run({memory.stream, memory.workspace, {nullptr, "matmul"}}, memory, product.has_bias() ? memory.bias : nullptr);
  };
  const auto measure = [&](std::size_t i) { return i == 0 ? timing.measure(run_product) : timing.measure(run_own); };
  const std::string algorithms[] = {"cublas", algorithm};
  return gpu_choices().choose(device_name() + ":way:" + shape.key(), algorithms, measure) == 1;
}

bool narrow_is_faster(const ProductShape& shape, const Product& product, const NarrowProduct& narrow) {
  return is_faster("narrow", shape, product, narrow.scratch_bytes(),
                   [&](const Launch& where, const ProductMemory& memory, const void* bias) {
                     narrow.run(where, memory.a, memory.b, bias, memory.y);
                   });
}

bool small_is_faster(const ProductShape& shape, const Product& product, const SmallProduct& small) {
  return is_faster("small", shape, product, 0, [&](const Launch& where, const ProductMemory& memory, const void* bias) {
    small.run(where, memory.a, memory.b, bias, memory.y);
  });
}

void run_library(const Product& product, const Launch& where, Inputs in, Outputs out) {
  product.run(where.stream, in[0].address(), in[1].address(), in.size() == 3 ? in[2].address() : nullptr,
              out[0].address(), where.scratch);
}

std::unique_ptr<Kernel> product_kernel(const OpCall& call, const ProductShape& shape) {
  if (auto kernel = own_product_kernel(call, shape)) return kernel;
  const auto product = std::make_shared<const Product>(shape);
  return cuda_kernel(
      call, [product](const Launch& where, Inputs in, Outputs out) { run_library(*product, where, in, out); },
      product->workspace_bytes());
}

}  // namespace

std::unique_ptr<Kernel> own_product_kernel(const OpCall& call, const ProductShape& shape) {
  if (NarrowProduct::is_surely_faster(shape)) return narrow_kernel(call, NarrowProduct(shape));
  if (SmallProduct::is_surely_faster(shape)) return small_kernel(call, SmallProduct(shape));
  if (NarrowProduct::suits(shape)) {
    const NarrowProduct narrow(shape);
    return narrow_is_faster(shape, Product(shape), narrow) ? narrow_kernel(call, narrow) : nullptr;
  }
  if (!SmallProduct::suits(shape)) return nullptr;
  const SmallProduct small(shape);
  return small_is_faster(shape, Product(shape), small) ? small_kernel(call, small) : nullptr;
}

std::unique_ptr<Kernel> make_matmul(const OpCall& call) {
  return product_kernel(call, shape_of_matmul(call));
}

std::unique_ptr<Kernel> make_outer_sum(const OpCall& call) {
  ProductShape shape;
  shape.transpose_a = true;
  shape.tf32 = may_use_tf32();
  shape.dtype = call.inputs[0].dtype;
  shape.result = call.outputs[0].dtype;
  shape.m = call.inputs[0].shape.back(0);
  shape.n = call.inputs[1].shape.back(0);
  shape.k = call.inputs[0].shape.elements() / shape.m;
  return product_kernel(call, shape);
}

}  // namespace troupe::cuda
