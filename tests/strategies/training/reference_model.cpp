#include <algorithm>
#include <cmath>

#include "troupe/tests/strategies/training/reference_training.hpp"

namespace troupe::testing {

namespace {

constexpr auto kReferenceHidden = static_cast<std::size_t>(RandomTraining::kHidden);
constexpr double kNormEpsilon = 1e-5, kRunningShare = 0.1, kHuberDelta = 0.5;

Dual sigmoid_of(const Dual& x) {
  return Dual(1.0) / (Dual(1.0) + exp(Dual(0.0) - x));
}

Dual sum_of(const std::vector<Dual>& row) {
  Dual sum;
  for (const auto& element : row) sum += element;
  return sum;
}

/// The logarithms of the softmax of a row.
std::vector<Dual> log_softmax_of(const std::vector<Dual>& y) {
  Dual sum;
  for (const auto& element : y) sum += exp(element);
  std::vector<Dual> logs;
  for (const auto& element : y) logs.push_back(element - log(sum));
  return logs;
}

}  // namespace

LossOfRows ReferenceModel::loss_of(const NamedNumbers& values, RowsOfStep rows, bool training) {
  LossOfRows result;
  std::map<std::string, std::size_t> first_variable;
  std::size_t variables = 0;
  parameters_.clear();
  for (const auto& parameter : training_.parameters) {
    first_variable[parameter.name] = variables;
    for (const auto value : values.at(parameter.name))
      parameters_[parameter.name].push_back(Dual::variable(value, variables++));
  }
  const auto outputs = outputs_of(values, rows, training, result.buffers);
  Dual weighted, plain;
  double weights = 0.0;
  for (auto row = rows.first; row < rows.end; ++row) {
    const auto& y = outputs[static_cast<std::size_t>(row - rows.first)];
    const auto weight = weight_of(row);
    if (weight > 0.0) weighted += loss_of_row(y, row) * Dual(weight);
    weights += training_.loss.over_rows ? 1.0 : weight;
    if (!training_.loss.sum) continue;
    for (std::size_t i = 0; i < y.size(); ++i)
      plain +=
          element_loss(y[i], training_.rows.target[static_cast<std::size_t>(row) * y.size() + i], LossKind::squared) *
          Dual(1.0 / static_cast<double>(y.size()));
  }
  if (weights > 0.0) result.loss = weighted * Dual(1.0 / weights);
  result.loss += plain * Dual(0.5 / static_cast<double>(rows.end - rows.first));
  result.divisor = weights;
  result.finite = std::isfinite(result.loss.value);
  for (const auto& parameter : training_.parameters) {
    const auto* const first = result.loss.by.data() + first_variable[parameter.name];
    result.gradients[parameter.name].assign(first, first + parameter.start.size());
  }
  return result;
}

std::vector<ReferenceModel::Row> ReferenceModel::outputs_of(const NamedNumbers& values, RowsOfStep rows, bool training,
                                                            NamedNumbers& buffers) {
  std::vector<Row> all;
  for (auto row = rows.first; row < rows.end; ++row) all.push_back(product(input_of(row, training), "w1", "b1"));
  normalize(all, values, training, buffers);
  for (auto& row : all) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = activated(row[i]);
      if (has("scale")) row[i] = row[i] * parameters_.at("scale")[i];
    }
    row = product(row, "w2", "b2");
  }
  return all;
}

ReferenceModel::Row ReferenceModel::input_of(std::int64_t row, bool training) const {
  constexpr auto kInputs = static_cast<std::size_t>(RandomTraining::kInputs);
  constexpr auto kUnits = static_cast<std::size_t>(RandomTraining::kUnits);
  const auto at = static_cast<std::size_t>(row);
  Row x;
  for (std::size_t i = at * kInputs; i < (at + 1) * kInputs; ++i)
    x.emplace_back(double{training_.rows.x[i]} + (training && training_.model.noise ? training_.rows.noise[i] : 0.0F));
  if (!has("table")) return x;
  const auto word = static_cast<std::size_t>(training_.rows.word[at]);
  for (std::size_t i = 0; i < kUnits; ++i) x.push_back(parameters_.at("table")[word * kUnits + i]);
  return x;
}

ReferenceModel::Row ReferenceModel::product(const Row& x, const std::string& weights, const std::string& bias) const {
  const auto& w = parameters_.at(weights);
  const auto columns = w.size() / x.size();
  Row y(columns);
  for (std::size_t k = 0; k < columns; ++k) {
    for (std::size_t i = 0; i < x.size(); ++i) y[k] += x[i] * w[i * columns + k];
    if (has(bias)) y[k] += parameters_.at(bias)[k];
  }
  return y;
}

Dual ReferenceModel::deviation_of(const Dual& variance) {
  const auto deviation = sqrt(variance + Dual(kNormEpsilon));
  smallest_deviation_ = std::min(smallest_deviation_, deviation.value);
  return deviation;
}

void ReferenceModel::normalize_row(Row& row) {
  const Dual share(1.0 / static_cast<double>(row.size()));
  const auto mean = training_.model.norm == NormKind::layer ? sum_of(row) * share : Dual(0.0);
  Row squares;
  for (const auto& element : row) squares.push_back((element - mean) * (element - mean));
  const auto deviation = deviation_of(sum_of(squares) * share);
  for (auto& element : row) element = (element - mean) / deviation;
}

void ReferenceModel::normalize(std::vector<Row>& all, const NamedNumbers& values, bool training,
                               NamedNumbers& buffers) {
  if (training_.model.norm == NormKind::none) return;
  for (std::size_t i = 0; i < kReferenceHidden && training_.model.norm == NormKind::batch; ++i) {
    Dual mean(values.at("norm.mean")[i]), variance(values.at("norm.variance")[i]);
    if (training) {
      const Dual share(1.0 / static_cast<double>(all.size()));
      mean = variance = Dual(0.0);
      for (const auto& row : all) mean += row[i] * share;
      for (const auto& row : all) variance += (row[i] - mean) * (row[i] - mean) * share;
      const auto moved = [&](const char* name, double of_batch) {
        buffers[name].push_back((1.0 - kRunningShare) * values.at(name)[i] + kRunningShare * of_batch);
      };
      moved("norm.mean", mean.value);
      moved("norm.variance", variance.value);
    }
    const auto deviation = deviation_of(variance);
    for (auto& row : all) row[i] = (row[i] - mean) / deviation;
  }
  for (auto& row : all) {
    if (training_.model.norm != NormKind::batch) normalize_row(row);
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = row[i] * parameters_.at("norm.scale")[i];
      if (has("norm.shift")) row[i] += parameters_.at("norm.shift")[i];
    }
  }
}

Dual ReferenceModel::activated(const Dual& x) {
  switch (training_.model.activation) {
    case ActivationKind::none:
      return x;
    case ActivationKind::tanh:
      return tanh(x);
    case ActivationKind::sigmoid:
      return sigmoid_of(x);
    case ActivationKind::relu:
      nearest_kink_ = std::min(nearest_kink_, std::abs(x.value));
      return x.value <= 0.0 ? Dual(0.0) : x;  // a NaN stays one
    case ActivationKind::gelu:
      return x * Dual(0.5) * (Dual(1.0) + erf(x * Dual(std::sqrt(0.5))));
    case ActivationKind::gelu_tanh: {
      const auto inner = Dual(std::sqrt(2.0 / std::acos(-1.0))) * (x + Dual(0.044715) * x * x * x);
      return x * Dual(0.5) * (Dual(1.0) + tanh(inner));
    }
    case ActivationKind::silu:
      return x * sigmoid_of(x);
    case ActivationKind::softplus:
      return log(Dual(1.0) + exp(x));
  }
  return x;
}

Dual ReferenceModel::element_loss(const Dual& y, double target, LossKind kind) {
  const auto difference = y - Dual(target);
  const auto size = std::abs(difference.value);
  if (kind == LossKind::absolute) nearest_kink_ = std::min(nearest_kink_, size);
  switch (kind) {
    case LossKind::absolute:
      return abs(difference);
    case LossKind::huber:
      return size <= kHuberDelta ? difference * difference * Dual(0.5)
                                 : (abs(difference) - Dual(kHuberDelta / 2.0)) * Dual(kHuberDelta);
    case LossKind::binary:
      return log(Dual(1.0) + exp(y)) - y * Dual(target);
    default:
      return difference * difference;
  }
}

Dual ReferenceModel::loss_of_row(const Row& y, std::int64_t row) {
  const auto at = static_cast<std::size_t>(row);
  const auto share = 1.0 / static_cast<double>(y.size());
  const bool classes = training_.loss.kind == LossKind::softmax || training_.loss.kind == LossKind::soft;
  const auto logs = log_softmax_of(y);
  Dual loss;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (!classes) {
      loss += element_loss(y[i], training_.rows.target[at * y.size() + i], training_.loss.kind) * Dual(share);
      continue;
    }
    const bool is_label = training_.rows.label[at] == static_cast<std::int32_t>(i);
    const double target = training_.loss.kind == LossKind::soft
                              ? double{training_.rows.probabilities[at * y.size() + i]}
                              : static_cast<double>(is_label);
    loss += logs[i] * Dual(-(target * (1.0 - training_.loss.smoothing) + training_.loss.smoothing * share));
  }
  return loss;
}

double ReferenceModel::weight_of(std::int64_t row) const {
  const auto at = static_cast<std::size_t>(row);
  const auto& loss = training_.loss;
  const auto label = training_.rows.label[at];
  double weight = loss.by_row ? training_.rows.weight[at] : 1.0;
  if (loss.ignored && label == RandomTraining::kIgnoredLabel) return 0.0;
  if (loss.class_weights && !loss.over_rows) weight *= class_weights()[static_cast<std::size_t>(label)];
  return weight;
}

}  // namespace troupe::testing
