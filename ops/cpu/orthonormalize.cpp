#include <cmath>

#include "troupe/ops/cpu/elements.hpp"
#include "troupe/ops/cpu/kernels.hpp"

namespace troupe::cpu {

namespace {

// The largest part of the original length of a column that may be rounding error. If the subtraction of the earlier
// columns leaves no more than this part, the column depends linearly on them and becomes zero.
constexpr double kRoundingError = 1e-6;

/// The columns of a row-major matrix [m, n].
struct Columns {
  float* elements;
  std::int64_t m, n;

  double product(std::int64_t a, std::int64_t b) const {
    double sum = 0.0;
    for (std::int64_t i = 0; i < m; ++i) sum += static_cast<double>(elements[i * n + a]) * elements[i * n + b];
    return sum;
  }
  void subtract(std::int64_t from, std::int64_t column, double factor) const {
    for (std::int64_t i = 0; i < m; ++i)
      elements[i * n + from] -= static_cast<float>(factor * elements[i * n + column]);
  }
  void scale(std::int64_t column, double factor) const {
    for (std::int64_t i = 0; i < m; ++i)
      elements[i * n + column] = static_cast<float>(factor * elements[i * n + column]);
  }
};

}  // namespace

std::unique_ptr<Kernel> make_orthonormalize(const OpCall& call) {
  return function_kernel([m = call.outputs[0].shape[0], n = call.outputs[0].shape[1]](Inputs in, Outputs out) {
    std::copy_n(floats(in[0]), m * n, mutable_floats(out[0]));
    const Columns columns{mutable_floats(out[0]), m, n};
    for (std::int64_t column = 0; column < n; ++column) {
      const auto length = std::sqrt(columns.product(column, column));
      for (std::int64_t before = 0; before < column; ++before)
        columns.subtract(column, before, columns.product(column, before));
      const auto length_left = std::sqrt(columns.product(column, column));
      // A length that is NaN is no rounding error: the column becomes NaN.
      columns.scale(column, length_left <= kRoundingError * length ? 0.0 : 1.0 / length_left);
    }
  });
}

}  // namespace troupe::cpu
