#pragma once

#include <functional>

#include "troupe/tests/ops/cases/array.hpp"

namespace troupe::ops_test {

/// A plain computation of an op in double precision. It shares no code with the kernels.
struct Reference {
  std::function<Arrays(const Arrays& inputs)> forward;
  /// The gradient of every input, given the gradient dy of output 0; an empty array for an input without one. Null: the
  /// op has no gradient.
  std::function<Arrays(const Arrays& inputs, const Array& dy)> backward;
};

namespace reference {

Reference add();
Reference sub();
Reference mul();
Reference div();
Reference square();
Reference scale(double factor);
Reference relu();
/// 1 / (1 + exp(-x)).
double sigmoid(double x);
/// The tanh approximation of gelu.
double gelu_tanh(double x);
/// The derivative of gelu_tanh.
double gelu_tanh_slope(double x);
/// Returns the inputs unchanged.
Reference identity();
/// The scalar 1.
Reference one();
/// 1 where the input is not below the threshold, else 0.
Reference at_least(double threshold);
Reference at_most(double threshold);
Reference largest_magnitude();
/// A target with the leading size kBatch gets the leading size of the input.
Reference reshape(Sizes target);
Reference view_at(std::int64_t offset, Sizes target);

Reference reduce_sum(std::vector<std::int64_t> axes);
Reference reduce_mean(std::vector<std::int64_t> axes);
Reference batch_mean();

Reference matmul(bool transpose_a, bool transpose_b, bool with_relu);
Reference conv2d(std::int64_t stride, std::int64_t padding, bool with_relu, std::int64_t groups = 1);
Reference max_pool(std::int64_t kernel_size, std::int64_t stride, std::int64_t padding);

Reference softmax();
Reference softmax_cross_entropy();
/// It has no gradient.
Reference log_softmax();
Reference logsumexp();
Reference count_correct();

struct SgdOptions {
  double momentum = 0.0;
  bool nesterov = false;
  double weight_decay = 0.0;
};
Reference sgd_update(SgdOptions options);
struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.0;
  bool decoupled = false;
};
Reference adam_update(AdamOptions options);
Reference lamb_update(AdamOptions options);
/// The update divides by the root of a state of squares: the old state times `keep` plus the new square times `add`.
Reference squares_update(double keep, double add, double epsilon, double weight_decay);
Reference global_norm_factor(double limit);
Reference learning_rate(std::function<double(double step)> rate);

}  // namespace reference

}  // namespace troupe::ops_test
