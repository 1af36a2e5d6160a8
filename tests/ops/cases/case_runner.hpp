#pragma once

#include "troupe/ops/core/device.hpp"
#include "troupe/tests/ops/cases/op_cases.hpp"

namespace troupe::ops_test {

/// The inputs of a case, the same ones every time. Every number is one that its dtype can hold, or `compute` in the
/// place of float32.
Arrays draw_inputs(const OpCase& op_case, std::int64_t rows, DType compute = DType::float32);
/// Weights for the elements of the differentiated result: their weighted sum is the loss.
Array draw_weights(const Sizes& sizes, DType compute = DType::float32);

/// The graph of a case: inputs `x0`, `x1`, ..., results `y0`, `y1`, ..., after its pass. The op gets float32 inputs
/// cast to `compute`, and its results are cast back. Throws Error if it does not take that.
Graph case_graph(const OpCase& op_case, DType compute = DType::float32);
/// As above with an input `dy`, and the gradients of the sum of y0 * dy as results `dx0`, `dx1`, ... of the inputs that
/// get one.
Graph case_gradient_graph(const OpCase& op_case, DType compute = DType::float32);

bool same_bits(const Tensor& a, const Tensor& b);

struct CaseResult {
  std::vector<Tensor> tensors;  ///< in host memory
  /// True if a second run, with the memory of all results filled with NaN before it, gave the same bits.
  bool repeats = false;

  Arrays outputs() const;
};

/// Runs a graph on inputs `x0`, ... and, if it has that input, `dy`; returns the results whose names begin with
/// `prefix`.
CaseResult run_case(const Graph& graph, const std::string& prefix, const Arrays& inputs, const Array& weights,
                    std::int64_t rows, Device device = {});

}  // namespace troupe::ops_test
