#include "troupe/tests/strategies/training/reference_training.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::testing {

namespace {

double rate_of(const RuleChoice& rule, std::int64_t number) {
  const auto at = static_cast<double>(number);
  double rate = rule.lr;
  if (rule.rate == RateKind::step_decay) rate *= std::pow(0.5, std::floor(at / 2.0));
  if (rule.rate == RateKind::cosine) {
    const auto end = rule.lr / 4.0;
    rate = at >= 5.0 ? end : end + (rule.lr - end) * (1.0 + std::cos(std::acos(-1.0) * at / 5.0)) / 2.0;
  }
  if (rule.rate == RateKind::table) {
    const auto table = rate_table();
    rate *= table[std::min(static_cast<std::size_t>(number), table.size() - 1)];
  }
  return number < rule.warm_up ? rate * (at + 1.0) / static_cast<double>(rule.warm_up) : rate;
}

double norm_of(const std::vector<double>& elements) {
  double squares = 0.0;
  for (const auto element : elements) squares += element * element;
  return std::sqrt(squares);
}

double beta2_of(const RuleChoice&) {
  return 0.999;
}

}  // namespace

std::vector<double>& ReferenceOptimizer::state(const std::string& name, const std::string& of, std::size_t size) {
  auto& elements = states_[of + "/" + name];
  elements.resize(size);
  return elements;
}

double ReferenceOptimizer::step(NamedNumbers& values, const LossOfRows& loss, std::int64_t step) {
  const auto steps = training_.optimizer.accumulated;
  if (step % steps == 0) {
    sums_.clear();
    summed_divisor_ = 0.0;
  }
  // A batch without an update of its own weighs as much as its divisor.
  const auto weight = steps == 1 ? 1.0 : loss.divisor;
  if (loss.finite) {
    for (const auto& [name, gradient] : loss.gradients) {
      auto& sum = sums_[name];
      sum.resize(gradient.size());
      for (std::size_t i = 0; i < gradient.size(); ++i) sum[i] += gradient[i] * weight;
    }
    summed_divisor_ += weight;
    for (const auto& [name, elements] : loss.buffers) values[name] = elements;
  }
  if (step % steps != steps - 1 || summed_divisor_ == 0.0) return 0.0;
  auto means = sums_;
  for (auto& [name, mean] : means)
    for (auto& element : mean) element /= summed_divisor_;
  update(values, std::move(means), step / steps);
  return summed_divisor_;
}

void ReferenceOptimizer::update(NamedNumbers& values, NamedNumbers gradients, std::int64_t number) {
  const auto is_not_zero = [](double element) { return element != 0.0; };
  for (const auto& parameter : training_.parameters) {
    if (!training_.trains(parameter.name)) continue;
    // Units without an activation and rows that no batch reads have a gradient of 0. The gradients of the outputs' bias
    // are 0 only if the signs of a loss cancel out, which they do up to rounding.
    const auto& gradient = gradients.at(parameter.name);
    const bool zeros_count = parameter.name == "b2" && std::ranges::any_of(gradient, is_not_zero);
    for (const auto element : gradient)
      if (zeros_count || is_not_zero(element)) smallest_gradient_ = std::min(smallest_gradient_, std::abs(element));
  }
  update_by(training_.optimizer.rule, false, values, gradients, number);
  if (training_.optimizer.of_group) update_by(*training_.optimizer.of_group, true, values, gradients, number);
  if (!training_.optimizer.averaging) return;
  const auto decay = *training_.optimizer.averaging;
  for (const auto& parameter : training_.parameters) {
    if (!training_.trains(parameter.name)) continue;
    auto& average = values[parameter.name + "/average"];
    const auto& now = values[parameter.name];
    for (std::size_t i = 0; i < now.size(); ++i) average[i] = decay * average[i] + (1.0 - decay) * now[i];
  }
}

void ReferenceOptimizer::update_by(const RuleChoice& rule, bool of_group, NamedNumbers& values, NamedNumbers& gradients,
                                   std::int64_t number) {
  std::vector<double> all;
  std::vector<const NamedParameter*> members;
  for (const auto& parameter : training_.parameters) {
    if (!training_.trains(parameter.name) || training_.in_group(parameter.name) != of_group) continue;
    members.push_back(&parameter);
    auto& gradient = gradients.at(parameter.name);
    if (rule.clip_value)
      for (auto& element : gradient) element = std::clamp(element, -*rule.clip_value, *rule.clip_value);
    all.insert(all.end(), gradient.begin(), gradient.end());
  }
  const auto norm = norm_of(all);
  for (const auto* parameter : members) {
    auto& gradient = gradients.at(parameter->name);
    if (rule.clip_norm && norm > *rule.clip_norm)
      for (auto& element : gradient) element *= *rule.clip_norm / norm;
    update_parameter(rule, *parameter, values.at(parameter->name), gradient, rate_of(rule, number));
  }
}

void ReferenceOptimizer::update_parameter(const RuleChoice& rule, const NamedParameter& parameter,
                                          std::vector<double>& w, const std::vector<double>& gradient, double rate) {
  ++updates_[parameter.name];
  const auto width = w.size() / static_cast<std::size_t>(parameter.shape.front());
  std::vector<double> steps(w.size());
  for (std::size_t i = 0; i < w.size(); ++i) {
    const auto* const row = gradient.data() + i / width * width;
    if (parameter.row_sparse && std::all_of(row, row + width, [](double element) { return element == 0.0; })) continue;
    if (rule.kind == RuleKind::adamw) w[i] -= rate * rule.weight_decay * w[i];
    steps[i] = step_of(rule, parameter.name, i, w[i], gradient[i]);
  }
  const auto size = norm_of(w), size_of_steps = norm_of(steps);
  const bool scales = rule.kind == RuleKind::lamb && size > 0.0 && size_of_steps > 0.0;
  for (std::size_t i = 0; i < w.size(); ++i) w[i] -= rate * steps[i] * (scales ? size / size_of_steps : 1.0);
}

double ReferenceOptimizer::step_of(const RuleChoice& rule, const std::string& name, std::size_t i, double w,
                                   double gradient) {
  constexpr double kBeta1 = 0.9, kDecay = 0.99;
  const auto of = [&](const char* kind) -> double& { return state(kind, name, kVariables)[i]; };
  const bool decoupled = rule.kind == RuleKind::adamw || rule.kind == RuleKind::lamb;
  const double g = gradient + (decoupled ? 0.0 : rule.weight_decay * w);
  if (rule.kind == RuleKind::sgd) {
    auto& velocity = of("velocity");
    velocity = rule.momentum * velocity + g;
    return rule.nesterov ? g + rule.momentum * velocity : velocity;
  }
  // The other rules divide the gradient by its size, and so turn its relative error into an error of the step.
  constexpr double kOfRelativeError = 0.1;
  if (g != 0.0) smallest_gradient_ = std::min(smallest_gradient_, kOfRelativeError * std::abs(g));
  if (rule.kind == RuleKind::rms_prop || rule.kind == RuleKind::adagrad) {
    const bool decays = rule.kind == RuleKind::rms_prop;
    auto& squares = of("squares");
    squares = decays ? kDecay * squares + (1.0 - kDecay) * g * g : squares + g * g;
    return g / (std::sqrt(squares) + (decays ? 1e-8 : 1e-10));
  }
  auto &m = of("m"), &v = of("v");
  m = kBeta1 * m + (1.0 - kBeta1) * g;
  v = beta2_of(rule) * v + (1.0 - beta2_of(rule)) * g * g;
  const auto updates = updates_.at(name);
  const auto mean = m / (1.0 - std::pow(kBeta1, updates));
  const auto root = std::sqrt(v / (1.0 - std::pow(beta2_of(rule), updates)));
  const bool lamb = rule.kind == RuleKind::lamb;
  return mean / (root + (lamb ? 1e-6 : 1e-8)) + (lamb ? rule.weight_decay * w : 0.0);
}

ReferenceTraining::ReferenceTraining(const RandomTraining& training) : training_(training), model_(training) {
  for (const auto& parameter : training.parameters) {
    values_[parameter.name].assign(parameter.start.begin(), parameter.start.end());
    if (training.optimizer.averaging && training.trains(parameter.name))
      values_[parameter.name + "/average"] = values_[parameter.name];
  }
  if (training.model.norm == NormKind::batch) {
    values_["norm.mean"].assign(RandomTraining::kHidden, 0.0);
    values_["norm.variance"].assign(RandomTraining::kHidden, 1.0);
  }
  const bool local = training.first.kind == StrategyKind::local_sgd;
  for (int i = 0; i < (local ? training.first.replicas : 1); ++i) optimizers_.emplace_back(training);
}

RowsOfStep ReferenceTraining::next_rows() const {
  const auto first = steps_ % training_.steps_of_epoch() * training_.rows.batch;
  return {first, std::min(first + training_.rows.batch, training_.rows.count)};
}

void ReferenceTraining::step() {
  const auto rows = next_rows();
  const auto loss = model_.loss_of(values_, rows, true);
  loss_ = loss.loss.value;
  if (training_.first.kind == StrategyKind::local_sgd)
    local_step(rows);
  else
    optimizers_.front().step(values_, loss, steps_);
  ++steps_;
}

/// Every worker makes a step with its own rows; the common values become the mean of all workers' values, weighted by
/// the rows of their steps or, if gradients are accumulated, of their updates.
void ReferenceTraining::local_step(RowsOfStep rows) {
  const auto before = values_;
  const auto workers = static_cast<std::int64_t>(optimizers_.size()), count = rows.end - rows.first;
  auto first = rows.first;
  std::vector<std::pair<NamedNumbers, double>> copies;
  double sum = 0.0;
  for (std::int64_t w = 0; w < workers; ++w) {
    const auto own = std::clamp<std::int64_t>(rows.end - first, 0, (count + workers - 1) / workers);
    auto values = before;
    LossOfRows loss{.finite = false};
    if (own > 0) loss = model_.loss_of(before, {first, first + own}, true);
    const auto of_update = optimizers_[static_cast<std::size_t>(w)].step(values, loss, steps_);
    const auto weight = training_.optimizer.accumulated > 1 ? of_update : static_cast<double>(own);
    first += own;
    sum += weight;
    copies.emplace_back(std::move(values), weight);
  }
  if (sum == 0.0) return;
  for (const auto& [values, weight] : copies)
    for (auto& [name, common] : values_)
      for (std::size_t i = 0; i < common.size(); ++i)
        common[i] += (values.at(name)[i] - before.at(name)[i]) * weight / sum;
}

double ReferenceTraining::evaluate() {
  return model_.loss_of(values_, {0, training_.rows.count}, false).loss.value;
}

bool ReferenceTraining::well_conditioned() const {
  constexpr double kLeast = 1e-3;
  // A norm divides the rounding errors of its inputs, which are up to 3, by the deviation.
  constexpr double kLeastDeviation = 0.25;
  return model_.nearest_kink() >= kLeast && model_.smallest_deviation() >= kLeastDeviation &&
         std::ranges::all_of(optimizers_,
                             [](const auto& optimizer) { return optimizer.smallest_gradient() >= kLeast; });
}

}  // namespace troupe::testing
