#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The learning rate as a function of the step number, counted from 0. It is an op of the graph, so every replica
/// computes the same one.
struct Schedule {
  enum class Kind { constant, step, cosine };

  Kind kind = Kind::constant;
  double base = 0.01;
  std::int64_t period = 1;   ///< step: steps between decays; cosine: steps down to `floor`
  double decay = 1.0;        ///< step: factor at every decay
  double floor = 0.0;        ///< cosine: the rate at the end and after it
  std::int64_t warm_up = 0;  ///< steps over which the rate rises linearly to that of the schedule

  Schedule(double rate) : base(rate) {}  // NOLINT: a number is a constant schedule

  static Schedule constant(double rate) { return {rate}; }
  static Schedule step_decay(double rate, std::int64_t period, double decay);
  /// Half a cosine wave from `rate` down to `floor`: Loshchilov and Hutter, "SGDR" (ICLR 2017), without restarts.
  static Schedule cosine(double rate, std::int64_t steps, double floor = 0.0);
  Schedule with_warm_up(std::int64_t steps) const;
  /// The rate of every step; after the last one it stays.
  static Schedule from_table(std::vector<float> rates);
  /// As above, computed now for so many steps.
  static Schedule from_function(const std::function<double(std::int64_t step)>& rate, std::int64_t steps);
  /// Ops that compute the rate, a float32 scalar, from the step, a float32 scalar.
  static Schedule from_ops(std::function<Value(Value step)> rate);

  /// The rate at a step. Throws Error for one that ops compute.
  double at(std::int64_t step) const;
  /// The op: batch_info int64[4] -> float32 scalar. Throws Error if a field is out of range.
  Value apply(Value batch_info) const;
  static Schedule from(const Attributes& attributes);

 private:
  Value warm_up_of(Value rate, Value batch_info) const;

  std::shared_ptr<const std::vector<float>> table_;
  std::function<Value(Value)> ops_;
};

}  // namespace troupe
