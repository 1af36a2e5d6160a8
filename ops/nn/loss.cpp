#include "troupe/ops/nn/loss.hpp"

#include <cmath>
#include <map>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/library/activation.hpp"
#include "troupe/ops/library/cast.hpp"
#include "troupe/ops/library/compare.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/gather.hpp"
#include "troupe/ops/library/math.hpp"
#include "troupe/ops/library/reduce.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/library/softmax.hpp"
#include "troupe/ops/nn/targets.hpp"

namespace troupe {

namespace {

Value number(GraphBuilder& builder, double value) {
  return builder.constant(Tensor::scalar(static_cast<float>(value)));
}

/// Returns float32 [B], the mean of weighted losses [B, ...] over each row; 0 for a row whose weights add up to 0. All
/// losses weigh 1 if `weights` is invalid.
Value weighted_mean_of_rows(Value losses, Value weights) {
  if (!weights.valid()) return mean_of_rows(losses);
  auto& builder = losses.builder();
  const auto sum = sum_of_rows(weights);
  const auto is_zero = equal(sum, number(builder, 0.0));
  return div(sum_of_rows(losses), where(is_zero, number(builder, 1.0), sum));
}

void expect_class_weights(const SoftmaxCrossEntropy& loss, std::int64_t classes) {
  const auto& weights = loss.class_weights;
  if (weights.empty()) return;
  if (loss.soft || loss.smoothing != 0.0)
    throw Error("loss", "class weights need labels without smoothing: give probabilities weights of rows instead");
  if (static_cast<std::int64_t>(weights.size()) != classes)
    throw Error("loss", "there are " + std::to_string(weights.size()) + " class weights for " +
                            std::to_string(classes) + " classes");
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (!std::isfinite(weights[i]) || weights[i] < 0.0F)
      throw Error("loss", "the weight of class " + std::to_string(i) + " must be finite and not negative");
}

/// The weights of the rows as float32 [B].
Value weights_of_rows(const Inputs& fields, const std::string& weight) {
  const auto shape = fields.info(weight).shape;
  const Shape weight_shape = shape.rank() == 2 && shape[1] == 1 ? shape : Shape{kBatch};
  const auto weights = fields.expect(weight, {weight_shape, DType::float32}, "the weights of the rows");
  return weight_shape.rank() == 2 ? reshape(weights, {kBatch}) : weights;
}

Value difference(const Outputs& outputs, const Inputs& fields, const std::string& output, const std::string& target,
                 const char* reader) {
  const auto y = outputs[output];
  return sub(y, target_of(fields, target, y, reader));
}

}  // namespace

std::pair<Value, Value> SoftmaxCrossEntropy::losses_of_labels(const Outputs& outputs, const Inputs& fields) const {
  constexpr const char* kReader = "the softmax cross-entropy";
  const auto logit_values = logits_of(outputs, logits, kReader);
  const auto classes_of_logits = logit_values.shape().back(0);
  expect_class_weights(*this, classes_of_logits);
  if (!soft) {
    const auto label_values = labels_of(fields, labels, logit_values, kReader);
    const auto losses =
        softmax_cross_entropy(logit_values, label_values, {.smoothing = smoothing, .ignored = ignored}).loss;
    if (!ignored && class_weights.empty()) return {losses, {}};
    const auto counted = counted_labels(label_values, ignored);
    if (class_weights.empty()) return {losses, counted.counts};
    const auto table = losses.builder().constant(Tensor::from<float>({classes_of_logits}, class_weights));
    const auto weights = mul(gather(table, counted.labels), counted.counts);
    return {mul(losses, weights), weights};
  }
  if (ignored) throw Error("loss", "probabilities have no label to ignore");
  if (!(smoothing >= 0.0 && smoothing <= 1.0)) throw Error("loss", "the smoothing must be in [0, 1]");
  auto probabilities = target_of(fields, labels, logit_values, kReader);
  const auto classes = static_cast<double>(classes_of_logits);
  if (smoothing > 0.0) probabilities = probabilities * (1.0 - smoothing) + smoothing / classes;
  return {soft_cross_entropy(logit_values, probabilities), {}};
}

Value SoftmaxCrossEntropy::operator()(const Outputs& outputs, const Inputs& fields) const {
  const auto [losses, weights] = losses_of_labels(outputs, fields);
  return weighted_mean_of_rows(losses, weights);
}

std::vector<LossMean> SoftmaxCrossEntropy::means(const Outputs& outputs, const Inputs& fields) const {
  const auto [losses, weights] = losses_of_labels(outputs, fields);
  if (mean == MeanOver::rows || !weights.valid()) return {{weighted_mean_of_rows(losses, weights)}};
  return {{sum_of_rows(losses), sum_of_rows(weights)}};
}

std::vector<Metric> SoftmaxCrossEntropy::metrics() const {
  if (soft) return {};
  return {accuracy(logits, labels, ignored)};
}

// For a logit x and a target t, computes the loss t log(1 + exp(-x)) + (1 - t) log(1 + exp(x)) with softplus, which
// does not overflow. The shorter form log(1 + exp(x)) - x t loses a small loss of a large x by cancellation.
Value BinaryCrossEntropy::operator()(const Outputs& outputs, const Inputs& fields) const {
  const auto x = outputs[logits];
  const auto targets = target_of(fields, target, x, "the binary cross-entropy");
  return mean_of_rows(add(mul(targets, softplus(neg(x))), mul(1.0F - targets, softplus(x))));
}

Value MeanSquaredError::operator()(const Outputs& outputs, const Inputs& fields) const {
  const auto d = difference(outputs, fields, output, target, "the mean squared error");
  return mean_of_rows(mul(d, d));
}

Value MeanAbsoluteError::operator()(const Outputs& outputs, const Inputs& fields) const {
  return mean_of_rows(abs(difference(outputs, fields, output, target, "the mean absolute error")));
}

Value Huber::operator()(const Outputs& outputs, const Inputs& fields) const {
  if (!(delta > 0.0) || std::isinf(delta)) throw Error("huber", "delta must be above 0 and finite");
  const auto d = difference(outputs, fields, output, target, "the Huber loss");
  const auto size = abs(d);
  const auto near = less_equal(size, number(d.builder(), delta));
  return mean_of_rows(where(near, mul(d, d) * 0.5, (size - delta / 2.0) * delta));
}

Value WeightedByRow::operator()(const Outputs& outputs, const Inputs& fields) const {
  const auto losses = loss(outputs, fields);
  return mul(losses, weights_of_rows(fields, weight));
}

std::vector<LossMean> WeightedByRow::means(const Outputs& outputs, const Inputs& fields) const {
  auto all = loss.means(outputs, fields);
  const auto weights = weights_of_rows(fields, weight);
  for (auto& of : all) {
    of.losses = mul(of.losses, weights);
    if (mean == MeanOver::weights || of.weights.valid())
      of.weights = of.weights.valid() ? mul(of.weights, weights) : weights;
  }
  return all;
}

Value SumOfLosses::operator()(const Outputs& outputs, const Inputs& fields) const {
  if (terms.empty()) throw Error("loss", "a sum of losses needs at least one");
  Value sum;
  for (const auto& [weight, loss] : terms) {
    const auto term = loss(outputs, fields) * weight;
    sum = sum.valid() ? add(sum, term) : term;
  }
  return sum;
}

std::vector<LossMean> SumOfLosses::means(const Outputs& outputs, const Inputs& fields) const {
  if (terms.empty()) throw Error("loss", "a sum of losses needs at least one");
  std::vector<LossMean> all;
  Value over_rows;
  for (const auto& [weight, loss] : terms)
    for (auto& of : loss.means(outputs, fields)) {
      const auto losses = of.losses * weight;
      if (of.weights.valid())
        all.push_back({losses, of.weights});
      else
        over_rows = over_rows.valid() ? add(over_rows, losses) : losses;
    }
  if (over_rows.valid()) all.push_back({over_rows});
  return all;
}

std::vector<Metric> SumOfLosses::metrics() const {
  std::vector<Metric> all;
  std::map<std::string, int> taken;
  for (const auto& term : terms)
    for (const auto& metric : term.loss.metrics()) {
      const auto number = ++taken[metric.name];
      all.push_back(number == 1 ? metric : metric.named(metric.name + "_" + std::to_string(number)));
    }
  return all;
}

}  // namespace troupe
