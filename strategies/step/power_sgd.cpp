#include "troupe/ops/core/error.hpp"
#include "troupe/ops/fused/finite.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/library/slice.hpp"
#include "troupe/strategies/step/flat_gradients.hpp"
#include "troupe/strategies/step/gradient_hook.hpp"

namespace troupe {

namespace {

/// The rows and columns of a gradient as a matrix, and `rank`, the number of columns of each factor. `rank` is 0 if the
/// gradient is sent unchanged.
struct Factored {
  std::int64_t rows, columns, rank;
};

Factored factored(const Shape& shape, std::int64_t rank) {
  if (shape.rank() < 2 || shape.elements() == 0) return {shape.elements(), 1, 0};
  const auto columns = shape.back(0), rows = shape.elements() / columns;
  // The gradient is sent unchanged unless its factors are smaller than the matrix.
  return {rows, columns, rank <= (rows * columns - 1) / (rows + columns) ? rank : 0};
}

/// A gradient as a matrix. `kept` is the part that earlier steps did not send, `all` the gradient plus `kept`, and
/// `right` the right factor of the previous step.
struct Matrix {
  Value all, kept, right;

  Matrix(Value gradient, std::int64_t rank, const std::string& name) {
    const auto [rows, columns, used] = factored(gradient.shape(), rank);
    auto& builder = gradient.builder();
    kept = builder.replica_state(name + "/kept", {rows, columns}, Initializer::zeros());
    right = builder.replica_state(name + "/right", {columns, used}, Initializer::normal(1.0));
    all = add(reshape(gradient, Shape{rows, columns}), kept);
  }

  /// The replica's contributions to the left factor and, with the orthonormal left factor `left`, to the right factor.
  /// encode() uses them as the factors of one worker's gradient; sum() adds them up over the replicas.
  Value left_factor() const { return matmul(all, right); }
  Value right_factor(Value left) const { return matmul(all, left, {.transpose_a = true}); }

  /// Sets the states for the next step. `kept` becomes the matrix minus the product of the left factor and `own_right`,
  /// this replica's contribution to the right factor. `right` becomes `next_right`, except that a column stays
  /// unchanged if the left factor's column is zero: a column that is zero once would remain zero in all later steps.
  void keep(Value left, Value own_right, Value next_right, const GradientHook::Site& site) const {
    site.set_state(kept, sub(all, matmul(left, own_right, {.transpose_b = true})));
    const auto used = at_least(reduce_sum(mul(left, left), std::vector<std::int64_t>{0}), 0.5);
    site.set_state(right, add(mul(next_right, used), mul(right, (used - 1.0) * -1.0)));
  }
};

std::string name_at(const GradientHook::Site& site, std::size_t i) {
  return site.name + "/" + std::to_string(i);
}

/// Returns the sums of the values over the replicas, computed by one all_reduce.
std::vector<Value> summed(const std::vector<Value>& values) {
  return values.empty() ? values : unpacked(all_reduce(pack(values)), values);
}

}  // namespace

PowerSgd::PowerSgd(std::int64_t rank) : rank_(rank) {
  if (rank < 1) throw Error("power_sgd", "the factors need at least one column, not " + std::to_string(rank));
}

Value PowerSgd::encode(std::span<const Value> gradients, const Site& site) const {
  std::vector<Value> sent;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (factored(gradients[i].shape(), rank_).rank == 0) {
      sent.push_back(gradients[i]);
      continue;
    }
    const Matrix matrix(gradients[i], rank_, name_at(site, i));
    const auto left = orthonormalize(matrix.left_factor());
    const auto right = matrix.right_factor(left);
    matrix.keep(left, right, right, site);
    sent.push_back(left);
    sent.push_back(right);
  }
  return flattened(sent);
}

std::vector<Value> PowerSgd::decode(Value encoded, std::span<const Shape> shapes) const {
  std::vector<Value> decoded;
  std::int64_t offset = 0;
  const auto next = [&](const Shape& shape) {
    const auto value = view_at(encoded, offset, shape);
    offset += shape.elements();
    return value;
  };
  for (const auto& shape : shapes) {
    const auto [rows, columns, rank] = factored(shape, rank_);
    if (rank == 0) {
      decoded.push_back(next(shape));
      continue;
    }
    const auto left = next({rows, rank}), right = next({columns, rank});
    decoded.push_back(reshape(matmul(left, right, {.transpose_b = true}), shape));
  }
  return decoded;
}

std::vector<Value> PowerSgd::sum(std::span<const Value> gradients, const Site& site) const {
  std::vector<std::size_t> thin, whole;
  for (std::size_t i = 0; i < gradients.size(); ++i)
    (factored(gradients[i].shape(), rank_).rank > 0 ? thin : whole).push_back(i);
  std::vector<Matrix> matrices;
  std::vector<Value> sent;
  for (const auto i : thin) {
    matrices.emplace_back(gradients[i], rank_, name_at(site, i));
    sent.push_back(matrices.back().left_factor());
  }
  for (const auto i : whole) sent.push_back(gradients[i]);
  const auto first = summed(sent);
  std::vector<Value> lefts, own_rights, sums(gradients.size());
  for (std::size_t k = 0; k < thin.size(); ++k) {
    lefts.push_back(orthonormalize(first[k]));
    own_rights.push_back(matrices[k].right_factor(lefts[k]));
  }
  const auto rights = summed(own_rights);
  for (std::size_t k = 0; k < thin.size(); ++k) {
    matrices[k].keep(lefts[k], own_rights[k], rights[k], site);
    sums[thin[k]] = reshape(matmul(lefts[k], rights[k], {.transpose_b = true}), gradients[thin[k]].shape());
  }
  for (std::size_t k = 0; k < whole.size(); ++k) sums[whole[k]] = first[thin.size() + k];
  return sums;
}

}  // namespace troupe
