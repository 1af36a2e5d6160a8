#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The learning rate as a function of the step number, counted from 0. With Optimizer::accumulating() the steps are
/// updates. An op of the graph computes the rate, so every replica has the same.
struct Schedule {
  enum class Kind { constant, step, cosine };

  Kind kind = Kind::constant;
  double base = 0.01;
  std::int64_t period = 1;   ///< step: number of steps between decays; cosine: number of steps until `floor`
  double decay = 1.0;        ///< step: factor by which each decay multiplies the rate
  double floor = 0.0;        ///< cosine: the rate from step `period` on
  std::int64_t warm_up = 0;  ///< number of first steps, in which the rate is multiplied by (step + 1) / warm_up

  Schedule(double rate) : base(rate) {}  // NOLINT: a number is accepted as a constant schedule

  static Schedule constant(double rate) { return {rate}; }
  static Schedule step_decay(double rate, std::int64_t period, double decay);
  /// The rate follows half a cosine wave from `rate` at step 0 down to `floor` at step `steps`. Source: Loshchilov and
  /// Hutter, "SGDR" (ICLR 2017), without restarts.
  static Schedule cosine(double rate, std::int64_t steps, double floor = 0.0);
  Schedule with_warm_up(std::int64_t steps) const;
  /// The rate of step i is rates[i]; later steps use the last rate. Throws Error if the table is empty or a rate is
  /// negative or not finite.
  static Schedule from_table(std::vector<float> rates);
  /// The table of the rates that `rate` returns for the first `steps` steps; the function is called now. Later steps
  /// use the last rate. Throws the errors of from_table().
  static Schedule from_function(const std::function<double(std::int64_t step)>& rate, std::int64_t steps);
  /// `rate` adds ops that compute the rate, a float32 scalar, from the step number, a float32 scalar.
  static Schedule from_ops(std::function<Value(Value step)> rate);

  /// The rate at a step, with the warm-up. Throws Error if the schedule comes from from_ops().
  double at(std::int64_t step) const;
  /// Adds the ops that compute the rate from the batch info, int64[4], and returns the rate, a float32 scalar. Throws
  /// Error if a member is out of range or from_ops() got a function that returns another shape or dtype.
  Value apply(Value batch_info) const;
  /// Returns the schedule that the attributes of a learning_rate op describe.
  static Schedule from(const Attributes& attributes);

 private:
  Value warm_up_of(Value rate, Value batch_info) const;

  std::shared_ptr<const std::vector<float>> table_;
  std::function<Value(Value)> ops_;
};

}  // namespace troupe
