#pragma once

#include <functional>
#include <string>

#include "troupe/ops/nn/update_rules.hpp"

namespace troupe {

/// A function that returns true if the parameter named `name` belongs to a group of parameters.
using ParameterFilter = std::function<bool(const std::string& name)>;

/// An update rule, which updates parameters by ops of the graph, and optional parameter groups, gradient accumulation
/// and averaging of parameters. Any rule of update_rules.hpp, such as Sgd, is accepted as an optimizer. A user-defined
/// rule is a copyable struct with the members `lr`, `clip_norm` and `update` of those rules, and optionally
/// `clip_value`. An optimizer is a value: functions such as with_group() return a changed copy.
class Optimizer {
 public:
  template <class Rule>
  Optimizer(Rule rule)  // NOLINT: a rule is accepted as an optimizer
      : schedule_(rule.lr), clip_norm_(rule.clip_norm) {
    if constexpr (requires { rule.clip_value; }) clip_value_ = rule.clip_value;
    update_ = [rule = std::move(rule)](const UpdateInputs& inputs) { rule.update(inputs); };
  }

  /// Updates the parameters that `group` accepts by another optimizer, with the schedule and clipping of that
  /// optimizer. A parameter that several groups accept belongs to the group that was added first. A training refuses a
  /// group without parameters; see expect_members(). Throws Error if the other optimizer accumulates or averages.
  Optimizer with_group(ParameterFilter group, const Optimizer& optimizer) const;
  /// Freezes the parameters that `group` accepts: they get neither gradients nor updates. A parameter that several
  /// groups accept belongs to the group that was added first.
  Optimizer frozen(ParameterFilter group) const;
  /// Averages the gradients of `steps` steps for one update, so that `steps` micro-batches count as one batch: all rows
  /// weigh the same, even if the micro-batches have different sizes, and a loss that divides by weights divides by the
  /// weights of all micro-batches. Schedules then count updates, not steps. A step that `apply_if` excludes (see
  /// apply()), such as one whose loss is not finite, adds nothing to the average; an update without rows is skipped. A
  /// fit that ends before the last step of an update keeps the sum, and the next fit adds to it; see
  /// FitResult::accumulated_steps. If a fit with another number of steps follows, it adds to the sum only if the update
  /// of the sum would have ended with the same step; else it drops the sum. Throws Error if `steps` is below 1.
  Optimizer accumulating(std::int64_t steps) const;
  /// Returns the optimizer with sums of accumulated gradients that no other trainer on the same parameters adds to: the
  /// names of the states that hold the sums end with "@NAME". An empty name, the default, adds nothing to the names.
  Optimizer of_trainer(const std::string& name) const;
  std::int64_t accumulated_steps() const { return accumulated_; }
  /// Keeps a moving average of every parameter as the state `NAME/average`. The average begins with the value that the
  /// parameter has before its first step. Each update multiplies the average by `decay` and adds (1 - decay) times the
  /// updated parameter. Throws Error if `decay` is not in [0, 1).
  Optimizer averaging(double decay) const;
  bool averages() const { return averaging_.has_value(); }

  /// Returns the optimizer for a graph whose parameters have other names than the filters of the groups expect.
  /// `original` maps a name in that graph to the name that the filters expect.
  Optimizer renamed(const std::function<std::string(const std::string&)>& original) const;

  /// Throws Error that names the group if a group has none of `parameters`, the names of all parameters and buffers of
  /// a model: its filter accepts none of them, or only those of groups that were added before. A frozen group may share
  /// all of its parameters with other frozen groups. The groups of a group's optimizer are checked alike, with the
  /// parameters of the group.
  void expect_members(std::span<const std::string> parameters) const;

  /// True if the optimizer updates the parameter `name`; false if a group, or a group within its group, freezes it.
  bool trains(const std::string& name) const;

  /// Adds the ops of the schedule, the clipping and the updates of all parameters to the graph. `apply_if` is a float32
  /// scalar on the device, such as the result of all_finite: unless it is above 0, parameters and states keep their
  /// values, except that the first step of an update always clears the accumulated gradients. With an invalid
  /// `apply_if` every step updates. `batch_weight`, a float32 scalar, is the number by which the loss of the whole
  /// batch divides, and so the weight of the batch in an update of several steps; if invalid, it is the number of rows.
  /// Throws Error if an option of the rule is out of range.
  void apply(std::span<const Value> parameters, std::span<const Value> gradients, Value batch_info, Value apply_if = {},
             Value batch_weight = {}) const;

 private:
  /// A filter and the optimizer of the parameters that it accepts, except those that an earlier group accepts.
  struct Group {
    ParameterFilter has;
    std::vector<Optimizer> optimizer;  // one element; none if the group is frozen
  };
  const Group* group_of(const std::string& name) const;
  void expect_members_within(const std::string& outer, std::span<const std::string> parameters) const;
  void update_and_average(std::span<const Value> parameters, std::span<const Value> gradients, Value batch_info,
                          Value apply_if) const;
  void update_all(std::span<const Value> parameters, std::span<const Value> gradients, Value batch_info,
                  Value apply_if) const;

  Schedule schedule_;
  std::optional<double> clip_norm_, clip_value_;
  std::function<void(const UpdateInputs&)> update_;
  std::vector<Group> groups_;
  std::int64_t accumulated_ = 1;
  std::string trainer_;
  std::optional<double> averaging_;
};

}  // namespace troupe
