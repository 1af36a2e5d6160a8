#pragma once

#include "troupe/ops/core/device.hpp"
#include "troupe/tests/ops/cases/op_cases.hpp"

namespace troupe::ops_test {

/// The inputs of a case for a number of rows, the same in every call. A number for a float32 input is exact in
/// `compute`.
Arrays draw_inputs(const OpCase& op_case, std::int64_t rows, DType compute = DType::float32);
/// Weights for the elements of the differentiated result. The loss is the weighted sum of the elements.
Array draw_weights(const Sizes& sizes, DType compute = DType::float32);

/// The graph of a case with inputs `x0`, `x1`, ... and results `y0`, `y1`, ..., after the pass of the case. Float32
/// inputs are cast to `compute` before the op, and results are cast back. Throws Error if the op does not take that
/// dtype.
Graph case_graph(const OpCase& op_case, DType compute = DType::float32);
/// The graph of a case with one more input `dy`, and one more result `dx0`, `dx1`, ... for every differentiable input:
/// the gradient of the sum of y0 * dy.
Graph case_gradient_graph(const OpCase& op_case, DType compute = DType::float32);

bool same_bits(const Tensor& a, const Tensor& b);

/// The results of a case on one device.
struct CaseResult {
  std::vector<Tensor> tensors;  ///< in host memory
  /// True if a second run gave the same bits, although the memory of all results was filled with NaN before it.
  bool repeats = false;

  Arrays outputs() const;
};

/// Runs a graph twice on `inputs` as `x0`, `x1`, ... and `weights` as `dy`. Returns the results whose names begin with
/// `prefix`.
CaseResult run_case(const Graph& graph, const std::string& prefix, const Arrays& inputs, const Array& weights,
                    std::int64_t rows, Device device = {});

}  // namespace troupe::ops_test
