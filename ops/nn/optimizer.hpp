#pragma once

#include <functional>
#include <string>

#include "troupe/ops/nn/update_rules.hpp"

namespace troupe {

/// Says whether a parameter, by its name, belongs to a group.
using ParameterFilter = std::function<bool(const std::string& name)>;

/// A rule that updates parameters by ops of the graph: Sgd, Adam, ..., or any copyable struct with members `lr`,
/// `clip_norm` and `update` like theirs, and optionally `clip_value`. A value: with_group() and the like return a
/// changed copy.
class Optimizer {
 public:
  template <class Rule>
  Optimizer(Rule rule)  // NOLINT: a rule is an optimizer
      : schedule_(rule.lr), clip_norm_(rule.clip_norm) {
    if constexpr (requires { rule.clip_value; }) clip_value_ = rule.clip_value;
    update_ = [rule = std::move(rule)](const UpdateInputs& inputs) { rule.update(inputs); };
  }

  /// The parameters of the group are updated by another optimizer, with a schedule and clipping of its own; of several
  /// groups the first that has the parameter counts. Throws Error if that accumulates or averages.
  Optimizer with_group(ParameterFilter group, const Optimizer& own) const;
  /// The parameters of the group keep their values, and get no gradient.
  Optimizer frozen(ParameterFilter group) const;
  /// The gradients of `steps` steps are averaged for one update, so that many micro-batches count as one batch.
  /// Schedules count updates. A step whose loss is not finite adds nothing; as the last of its group it makes no
  /// update.
  Optimizer accumulating(std::int64_t steps) const;
  /// Keeps an average of every parameter, as state `NAME/average`: with every update decay times the old average plus
  /// 1 - decay times the value before the update; at first the value itself.
  Optimizer averaging(double decay) const;

  /// The same for a graph in which parameters have other names than the filters of the groups know: `known` gives
  /// those.
  Optimizer renamed(const std::function<std::string(const std::string&)>& known) const;

  /// False if the parameter is frozen.
  bool trains(const std::string& name) const;

  /// Adds schedule, clipping and the updates of all parameters. With the flag `apply_if` (float32 scalar on the device,
  /// such as all_finite gives) parameters and states keep their bits unless it is above 0, but for gradients that are
  /// accumulated. Throws Error if an option is
  /// out of range.
  void apply(std::span<const Value> parameters, std::span<const Value> gradients, Value batch_info,
             Value apply_if = {}) const;

 private:
  struct Group {
    ParameterFilter has;
    std::vector<Optimizer> own;  // one, or none: frozen
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
