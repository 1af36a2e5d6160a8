#pragma once

#include <functional>
#include <string>
#include <vector>

#include "troupe/ops/graph/graph.hpp"
#include "troupe/tests/ops/cases/reference.hpp"

namespace troupe::ops_test {

/// How the elements of an input are chosen.
enum class Draw {
  uniform,         ///< in [-1, 1)
  away_from_zero,  ///< 0.1 <= |x| < 1, away from the kink of relu
  distinct,        ///< multiples of 1/64, no two alike
  eighths,         ///< multiples of 1/8 in [-1, 1]: sums of their products are exact in float32
  off_grid,        ///< odd multiples of 1/128: they never cancel a sum of products of eighths
  large,           ///< within 3 of +10,000 or -10,000
  positive,        ///< in [0.1, 1)
  near_one,        ///< in [0.5, 1.5)
  constant,        ///< `number`
  labels,          ///< int32 below `number`
  wide_labels,     ///< int64 below `number`
  mask,            ///< uint8, 0 or 1
  batch_info,      ///< int64[4] with step `number`
};

struct CaseInput {
  Shape shape;
  Draw draw = Draw::uniform;
  bool differentiable = true;
  std::int64_t number = 0;
  /// An update may write to it.
  bool is_parameter = false;

  DType dtype() const {
    if (draw == Draw::labels) return DType::int32;
    if (draw == Draw::mask) return DType::uint8;
    return draw == Draw::batch_info || draw == Draw::wide_labels ? DType::int64 : DType::float32;
  }
};

using Values = std::vector<Value>;

/// One op on inputs of one kind of shape. Every backend runs the same cases.
struct OpCase {
  std::string name;
  std::vector<CaseInput> inputs;
  /// Applies the op; the first result is the one that is differentiated.
  std::function<Values(const Values& inputs)> build;
  Reference reference;
  /// Largest distance (array.hpp) from the reference; 0: the same bits.
  double tolerance = 1e-5;
  /// Changes the graph before gradients are taken, if set.
  Graph (*pass)(const Graph&) = nullptr;
  /// False where finite differences would step over a kink.
  bool smooth = true;
  /// The gradient of the reference is by differences, which take long for many rows.
  bool by_differences = false;
  /// The tolerance in 16-bit floats, in halves of the last place of 1: every op inside the case rounds its result.
  double roundings = 2.0;

  /// Rows of the batch to try: one number if the shapes do not name the batch.
  std::vector<std::int64_t> rows() const;
  /// Those to try gradients with; none if it has none.
  std::vector<std::int64_t> gradient_rows() const;
};

/// A case whose reference is `forward`, computed in double precision; its gradient by central differences of that, with
/// respect to the inputs that are differentiable.
OpCase forward_case(std::string name, std::vector<CaseInput> inputs, std::function<Values(const Values&)> build,
                    std::function<Arrays(const Arrays&)> forward);
/// As above, for an op without a gradient, to the bit.
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

// Inputs that only say what the others need.
inline CaseInput batch_info(std::int64_t step = 6) {
  return {Shape{4}, Draw::batch_info, false, step};
}
inline CaseInput labels(std::int64_t classes) {
  return {Shape{kBatch}, Draw::labels, false, classes};
}

}  // namespace troupe::ops_test
