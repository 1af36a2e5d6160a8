#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The learning rate as a function of the number of the step, counted from 0. With Optimizer::accumulating() the rate
/// depends on the number of the update instead. Ops of the graph compute the rate, so all replicas have the same rate.
struct Schedule {
  enum class Kind { constant, step, cosine };

  Kind kind = Kind::constant;
  double base = 0.01;
  std::int64_t period = 1;   ///< Kind::step: number of steps between decays; Kind::cosine: steps until `floor`
  double decay = 1.0;        ///< Kind::step: factor by which each decay multiplies the rate
  double floor = 0.0;        ///< Kind::cosine: the rate from step `period` on
  std::int64_t warm_up = 0;  ///< the first `warm_up` steps multiply the rate by (step + 1) / warm_up

  Schedule(double rate) : base(rate) {}  // NOLINT: a number is accepted as a constant schedule

  static Schedule constant(double rate) { return {rate}; }
  static Schedule step_decay(double rate, std::int64_t period, double decay);
  /// Makes a schedule whose rate follows half a cosine wave from `rate` at step 0 down to `floor` at step `steps`, and
  /// stays at `floor`. Source: Loshchilov and Hutter, "SGDR" (ICLR 2017), without restarts.
  static Schedule cosine(double rate, std::int64_t steps, double floor = 0.0);
  Schedule with_warm_up(std::int64_t steps) const;
  /// Makes a schedule in which step i has the rate rates[i], and later steps have the last rate. Throws Error if the
  /// table is empty or a rate is negative or not finite.
  static Schedule from_table(std::vector<float> rates);
  /// Calls `rate` now for each of the first `steps` steps and makes a table of the results, as from_table() does. Later
  /// steps use the last rate. Throws the errors of from_table().
  static Schedule from_function(const std::function<double(std::int64_t step)>& rate, std::int64_t steps);
  /// Makes a schedule whose rate is the result of ops that `rate` adds to the graph. `rate` gets the number of the step
  /// as a float32 scalar, and must return a float32 scalar.
  static Schedule from_ops(std::function<Value(Value step)> rate);

  /// The rate at a step, including the warm-up. Throws Error if the schedule comes from from_ops().
  double at(std::int64_t step) const;
  /// Adds the ops that compute the rate from the batch info, int64[4], and returns the rate, a float32 scalar. Throws
  /// Error if `base`, `period`, `decay`, `floor` or `warm_up` is out of range, or if the function of from_ops() returns
  /// no float32 scalar.
  Value apply(Value batch_info) const;
  /// Returns the schedule that the attributes of a learning_rate node describe; apply() sets these attributes.
  static Schedule from(const Attributes& attributes);

 private:
  Value warm_up_of(Value rate, Value batch_info) const;

  std::shared_ptr<const std::vector<float>> table_;
  std::function<Value(Value)> ops_;
};

}  // namespace troupe
