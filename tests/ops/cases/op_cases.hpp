#pragma once

#include <functional>
#include <string>
#include <vector>

#include "troupe/ops/graph/graph.hpp"
#include "troupe/tests/ops/cases/reference.hpp"

namespace troupe::ops_test {

/// The random numbers in an input.
enum class Draw {
  uniform,         ///< in [-1, 1)
  away_from_zero,  ///< 0.1 <= |x| < 1, away from the kink of relu
  distinct,        ///< multiples of 1/64, all different
  eighths,         ///< multiples of 1/8 in [-1, 1]: sums of their products are exact in float32
  off_grid,        ///< odd multiples of 1/128: they never cancel a sum of products of eighths
  large,           ///< within 3 of +10,000 or -10,000
  positive,        ///< in [0.1, 1)
  near_one,        ///< in [0.5, 1.5)
  constant,        ///< `number`
  labels,          ///< int32 below `number`
  wide_labels,     ///< int64 below `number`
  mask,            ///< uint8, 0 or 1
  batch_info,      ///< int64[4]: the rows, 2 rows + 3 as global rows, 1 as first row, `number` as step
};

/// An input of a case.
struct CaseInput {
  Shape shape;
  Draw draw = Draw::uniform;
  bool differentiable = true;
  std::int64_t number = 0;
  /// True: an update may write to the input.
  bool is_parameter = false;

  DType dtype() const {
    if (draw == Draw::labels) return DType::int32;
    if (draw == Draw::mask) return DType::uint8;
    return draw == Draw::batch_info || draw == Draw::wide_labels ? DType::int64 : DType::float32;
  }
};

using Values = std::vector<Value>;

/// An op with inputs and a reference. Every backend runs the same cases.
struct OpCase {
  std::string name;
  std::vector<CaseInput> inputs;
  /// Applies the op. The first result is differentiated.
  std::function<Values(const Values& inputs)> build;
  Reference reference;
  /// The largest distance (array.hpp) from the reference. 0: the same bits.
  double tolerance = 1e-5;
  /// A pass that changes the graph before gradients are taken; null: none.
  Graph (*pass)(const Graph&) = nullptr;
  /// False where finite differences would step over a kink.
  bool smooth = true;
  /// True: the gradient of the reference comes from finite differences, which take long for many rows.
  bool by_differences = false;
  /// The tolerance in 16-bit floats, in halves of the last place of 1, the error of one rounding.
  double roundings = 2.0;

  /// The numbers of rows to try; a single one if no input has the batch.
  std::vector<std::int64_t> rows() const;
  /// The numbers of rows to try gradients with; empty for a case without a gradient.
  std::vector<std::int64_t> gradient_rows() const;
};

/// A case whose reference is `forward`, computed in double precision. The gradient of the reference with respect to the
/// differentiable inputs comes from central differences of `forward`.
OpCase forward_case(std::string name, std::vector<CaseInput> inputs, std::function<Values(const Values&)> build,
                    std::function<Arrays(const Arrays&)> forward);
/// A case of an op without a gradient, whose results equal `forward` to the bit.
OpCase exact_case(std::string name, std::vector<CaseInput> inputs, std::function<Values(const Values&)> build,
                  std::function<Arrays(const Arrays&)> forward);

/// All cases.
const std::vector<OpCase>& op_cases();

// The parts of the table.
std::vector<OpCase> elementwise_cases();
std::vector<OpCase> math_cases();
std::vector<OpCase> compare_cases();
std::vector<OpCase> moving_cases();
std::vector<OpCase> indexing_cases();
std::vector<OpCase> norm_cases();
std::vector<OpCase> sequence_cases();
std::vector<OpCase> finite_cases();
std::vector<OpCase> view_cases();
std::vector<OpCase> reduce_cases();
std::vector<OpCase> matmul_cases();
std::vector<OpCase> gelu_cases();
std::vector<OpCase> conv_cases();
std::vector<OpCase> pool_cases();
std::vector<OpCase> softmax_cases();
std::vector<OpCase> update_cases();
std::vector<OpCase> merged_update_cases();
std::vector<OpCase> fused_cases();

// Inputs without a gradient that several parts use.
inline CaseInput batch_info(std::int64_t step = 6) {
  return {Shape{4}, Draw::batch_info, false, step};
}
inline CaseInput labels(std::int64_t classes) {
  return {Shape{kBatch}, Draw::labels, false, classes};
}

}  // namespace troupe::ops_test
