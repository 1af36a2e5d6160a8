#include <tuple>

#include "troupe/ops/cpu/kernels.hpp"
#include "troupe/ops/cpu/primitive_kernel.hpp"

namespace troupe::cpu {

namespace {

// A row-major matrix, described by strides if it is transposed. oneDNN packs matrices as it needs, so none is reordered
// here.
dnnl::memory::desc matrix(std::int64_t rows, std::int64_t columns, bool transposed) {
  return transposed ? describe({columns, rows}, Dims{1, columns}) : describe({rows, columns}, Dims{columns, 1});
}

/// The last two axes of a shape as matrices, with all leading axes as one batch axis.
dnnl::memory::desc matrices(const Shape& shape, bool transposed) {
  const auto rows = shape.back(1), columns = shape.back(0);
  const auto count = shape.elements() / (rows * columns);
  return transposed ? describe({count, columns, rows}, Dims{rows * columns, 1, columns})
                    : describe({count, rows, columns}, Dims{rows * columns, columns, 1});
}

/// A shape as one matrix, with all leading axes as its rows.
dnnl::memory::desc rows_of(const Shape& shape, bool transposed) {
  return matrix(shape.elements() / shape.back(0), shape.back(0), transposed);
}

/// The matrices of a product and its bias, in the form of oneDNN.
struct Product {
  dnnl::memory::desc a, b, y, bias;
};

Product describe_product(const OpCall& call) {
  const bool ta = call.attributes.flag("transpose_a"), tb = call.attributes.flag("transpose_b");
  const auto n = call.outputs[0].shape.back(0);
  const auto& [a, b, y] = std::tie(call.inputs[0].shape, call.inputs[1].shape, call.outputs[0].shape);
  if (b.rank() == 2) return {rows_of(a, ta), rows_of(b, tb), rows_of(y, false), describe({1, n}, Dims{n, 1})};
  return {matrices(a, ta), matrices(b, tb), matrices(y, false), describe({1, 1, n}, Dims{n, n, 1})};
}

PrimitiveKernel make_product(const Product& product, bool has_bias) {
  const auto chosen = has_bias ? choose<dnnl::matmul>(product.a, product.b, product.bias, product.y)
                               : choose<dnnl::matmul>(product.a, product.b, product.y);
  PrimitiveKernel kernel(dnnl::matmul(chosen), chosen.scratchpad_desc());
  kernel.input(0, DNNL_ARG_SRC, product.a).input(1, DNNL_ARG_WEIGHTS, product.b).output(0, DNNL_ARG_DST, product.y);
  if (has_bias) kernel.input(2, DNNL_ARG_BIAS, product.bias);
  return kernel;
}

}  // namespace

std::unique_ptr<Kernel> make_matmul(const OpCall& call) {
  return primitive_kernel(call, [&] {
    auto kernel = make_product(describe_product(call), call.inputs.size() == 3);
    kernel.relu_at_end(call.attributes.flag("relu"));
    return kernel;
  });
}

std::unique_ptr<Kernel> make_outer_sum(const OpCall& call) {
  return primitive_kernel(call, [&] {
    return make_product({rows_of(call.inputs[0].shape, true),
                         rows_of(call.inputs[1].shape, false),
                         rows_of(call.outputs[0].shape, false),
                         {}},
                        false);
  });
}

}  // namespace troupe::cpu
