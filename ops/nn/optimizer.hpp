#pragma once

#include <functional>
#include <string>

#include "troupe/ops/nn/update_rules.hpp"

namespace troupe {

/// Whether the parameter of that name belongs to a group.
using ParameterFilter = std::function<bool(const std::string& name)>;

/// A rule that updates parameters by ops of the graph: Sgd, Adam, ..., or any copyable struct with the members `lr`,
/// `clip_norm`, `update` and optionally `clip_value` of those rules. A value: functions such as with_group() return a
/// changed copy.
class Optimizer {
 public:
  template <class Rule>
  Optimizer(Rule rule)  // NOLINT: a rule is accepted as an optimizer
      : schedule_(rule.lr), clip_norm_(rule.clip_norm) {
    if constexpr (requires { rule.clip_value; }) clip_value_ = rule.clip_value;
    update_ = [rule = std::move(rule)](const UpdateInputs& inputs) { rule.update(inputs); };
  }

  /// Updates the parameters of the group by another optimizer, with its own schedule and clipping. A parameter that is
  /// in several groups belongs to the first. Throws Error if the other optimizer accumulates or averages.
  Optimizer with_group(ParameterFilter group, const Optimizer& optimizer) const;
  /// Keeps the values of the group's parameters, which get no gradient.
  Optimizer frozen(ParameterFilter group) const;
  /// Averages the gradients of `steps` steps for one update, so that as many micro-batches count as one batch.
  /// Schedules count updates. A step whose loss is not finite adds nothing; if it is the last step of an update, the
  /// update is skipped.
  Optimizer accumulating(std::int64_t steps) const;
  /// Keeps an average of every parameter as the state `NAME/average`. Each update multiplies the average by `decay` and
  /// adds (1 - decay) times the parameter's value before the update. The average starts as that value.
  Optimizer averaging(double decay) const;

  /// The optimizer for a graph with other parameter names: `original` returns the name that the filters of the groups
  /// know.
  Optimizer renamed(const std::function<std::string(const std::string&)>& original) const;

  /// Whether the parameter is updated; false if it is frozen.
  bool trains(const std::string& name) const;

  /// Adds the schedule, the clipping and the updates of all parameters. `apply_if` is a float32 scalar on the device,
  /// such as the result of all_finite: unless it is above 0, parameters and states keep their bits, except that the
  /// first step of an update always clears the accumulated gradients. Throws Error if an option is out of range.
  void apply(std::span<const Value> parameters, std::span<const Value> gradients, Value batch_info,
             Value apply_if = {}) const;

 private:
  /// The parameters that the filter accepts, with their optimizer.
  struct Group {
    ParameterFilter has;
    std::vector<Optimizer> optimizer;  // one; none if the group is frozen
  };
  const Group* group_of(const std::string& name) const;
  void average(std::span<const Value> parameters, Value apply_if) const;
  void update_all(std::span<const Value> parameters, std::span<const Value> gradients, Value batch_info,
                  Value apply_if) const;

  Schedule schedule_;
  std::optional<double> clip_norm_, clip_value_;
  std::function<void(const UpdateInputs&)> update_;
  std::vector<Group> groups_;
  std::int64_t accumulated_ = 1;
  std::optional<double> averaging_;
};

}  // namespace troupe
