#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The learning rate as a function of the step number, counted from 0. The rate is an op of the graph, so every replica
/// computes the same one.
struct Schedule {
  enum class Kind { constant, step, cosine };

  Kind kind = Kind::constant;
  double base = 0.01;
  std::int64_t period = 1;   ///< step: steps between decays; cosine: steps until `floor`
  double decay = 1.0;        ///< step: factor of each decay
  double floor = 0.0;        ///< cosine: the rate from step `period` on
  std::int64_t warm_up = 0;  ///< steps over which the rate rises linearly to the rate of the schedule

  Schedule(double rate) : base(rate) {}  // NOLINT: a number is accepted as a constant schedule

  static Schedule constant(double rate) { return {rate}; }
  static Schedule step_decay(double rate, std::int64_t period, double decay);
  /// Half a cosine wave from `rate` down to `floor`. Source: Loshchilov and Hutter, "SGDR" (ICLR 2017), without
  /// restarts.
  static Schedule cosine(double rate, std::int64_t steps, double floor = 0.0);
  Schedule with_warm_up(std::int64_t steps) const;
  /// The rates of the first steps. Later steps use the last one.
  static Schedule from_table(std::vector<float> rates);
  /// The rates that a function returns for the first `steps` steps, computed now. Later steps use the last one.
  static Schedule from_function(const std::function<double(std::int64_t step)>& rate, std::int64_t steps);
  /// Ops that compute the rate, a float32 scalar, from the step number, a float32 scalar.
  static Schedule from_ops(std::function<Value(Value step)> rate);

  /// The rate at a step. Throws Error if ops compute it.
  double at(std::int64_t step) const;
  /// Adds the op that computes the rate: batch_info int64[4] -> float32 scalar. Throws Error if a field is out of
  /// range.
  Value apply(Value batch_info) const;
  /// The schedule of a learning_rate op.
  static Schedule from(const Attributes& attributes);

 private:
  Value warm_up_of(Value rate, Value batch_info) const;

  std::shared_ptr<const std::vector<float>> table_;
  std::function<Value(Value)> ops_;
};

}  // namespace troupe
