#pragma once

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "troupe/tests/strategies/training/dual_number.hpp"
#include "troupe/tests/strategies/training/random_training.hpp"

namespace troupe::testing {

/// The values of parameters, buffers and optimizer state by name.
using NamedNumbers = std::map<std::string, std::vector<double>>;

/// The rows [first, end) of a batch, as one worker computes them.
struct RowsOfStep {
  std::int64_t first, end;
};

/// The loss of some rows and its gradients, in double precision.
struct LossOfRows {
  Dual loss;
  NamedNumbers gradients;
  /// The number by which a mean divides: the weights, or the rows.
  double divisor = 0.0;
  /// The values of the buffers of a batch norm after a step.
  NamedNumbers buffers;
  bool finite = true;
};

/// Computes losses of a RandomTraining without the library.
class ReferenceModel {
 public:
  explicit ReferenceModel(const RandomTraining& training) : training_(training) {}

  /// The loss of rows, with the graph of a training or of an evaluation.
  LossOfRows loss_of(const NamedNumbers& values, RowsOfStep rows, bool training);
  /// The smallest distance of a number from a point where the slope of a function changes, over all calls.
  double nearest_kink() const { return nearest_kink_; }
  /// The smallest deviation by which a norm has divided, over all calls.
  double smallest_deviation() const { return smallest_deviation_; }

 private:
  using Row = std::vector<Dual>;
  std::vector<Row> outputs_of(const NamedNumbers& values, RowsOfStep rows, bool training, NamedNumbers& buffers);
  Row input_of(std::int64_t row, bool training) const;
  Row product(const Row& x, const std::string& weights, const std::string& bias) const;
  void normalize(std::vector<Row>& all, const NamedNumbers& values, bool training, NamedNumbers& buffers);
  void normalize_row(Row& row);
  Dual deviation_of(const Dual& variance);
  Dual activated(const Dual& x);
  Dual element_loss(const Dual& y, double target, LossKind kind);
  Dual loss_of_row(const Row& y, std::int64_t row);
  double weight_of(std::int64_t row) const;
  bool has(const std::string& name) const { return parameters_.contains(name); }

  const RandomTraining& training_;
  std::map<std::string, std::vector<Dual>> parameters_;  // of the call in progress
  double nearest_kink_ = std::numeric_limits<double>::infinity();
  double smallest_deviation_ = std::numeric_limits<double>::infinity();
};

/// The update rules in double precision: the optimizer of one replica, with its state.
class ReferenceOptimizer {
 public:
  explicit ReferenceOptimizer(const RandomTraining& training) : training_(training) {}

  /// Makes step `step` with the loss of a batch, which changes the values of the parameters. Returns the divisor of the
  /// gradients of the update; 0 if the step is not the last one of an update, or the update has no gradients.
  double step(NamedNumbers& values, const LossOfRows& loss, std::int64_t step);
  /// The smallest magnitude of an element, not 0, of the gradients of all updates, before and after weight decay.
  double smallest_gradient() const { return smallest_gradient_; }

 private:
  void update(NamedNumbers& values, NamedNumbers gradients, std::int64_t number);
  void update_by(const RuleChoice& rule, bool of_group, NamedNumbers& values, NamedNumbers& gradients,
                 std::int64_t number);
  void update_parameter(const RuleChoice& rule, const NamedParameter& parameter, std::vector<double>& w,
                        const std::vector<double>& gradient, double rate);
  /// Returns the step of an element by the rule, before the learning rate.
  double step_of(const RuleChoice& rule, const std::string& name, std::size_t i, double w, double gradient);
  std::vector<double>& state(const std::string& name, const std::string& of, std::size_t size);

  const RandomTraining& training_;
  NamedNumbers states_, sums_;
  std::map<std::string, double> updates_;
  double summed_divisor_ = 0.0;
  double smallest_gradient_ = std::numeric_limits<double>::infinity();
};

/// A training, step by step.
class ReferenceTraining {
 public:
  explicit ReferenceTraining(const RandomTraining& training);

  void step();
  const NamedNumbers& values() const { return values_; }
  /// The loss of the last step; a NaN if a row of it has one.
  double loss() const { return loss_; }
  /// The loss of an evaluation of all rows.
  double evaluate();
  /// True if all gradients were at least 1e-3, no number was near a kink, and no norm divided by a small deviation.
  bool well_conditioned() const;

 private:
  RowsOfStep next_rows() const;
  void local_step(RowsOfStep rows);

  const RandomTraining& training_;
  ReferenceModel model_;
  NamedNumbers values_;
  std::vector<ReferenceOptimizer> optimizers_;
  std::int64_t steps_ = 0;
  double loss_ = 0.0;
};

}  // namespace troupe::testing
