#include "troupe/ops/nn/loss.hpp"

#include <map>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/library/activation.hpp"
#include "troupe/ops/library/cast.hpp"
#include "troupe/ops/library/compare.hpp"
#include "troupe/ops/library/elementwise.hpp"
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

/// Returns float32 [B], the mean of `losses` over the labels of each row that are not `ignored`; 0 for a row without
/// such labels. `losses` must be 0 at ignored labels. Without a value of `ignored` all labels count.
Value mean_of_counted(Value losses, Value labels, std::optional<std::int32_t> ignored) {
  if (!ignored) return mean_of_rows(losses);
  auto& builder = losses.builder();
  const auto counted = cast(not_equal(labels, builder.constant(Tensor::scalar(*ignored))), DType::float32);
  const auto count = sum_of_rows(counted);
  const auto one = number(builder, 1.0);
  return div(sum_of_rows(losses), where(less(count, one), one, count));
}

Value difference(const Outputs& outputs, const Inputs& fields, const std::string& output, const std::string& target,
                 const char* reader) {
  const auto y = outputs[output];
  return sub(y, target_of(fields, target, y, reader));
}

}  // namespace

Value SoftmaxCrossEntropy::operator()(const Outputs& outputs, const Inputs& fields) const {
  constexpr const char* kReader = "the softmax cross-entropy";
  const auto logit_values = logits_of(outputs, logits, kReader);
  if (!soft) {
    const auto label_values = labels_of(fields, labels, logit_values, kReader);
    const auto losses =
        softmax_cross_entropy(logit_values, label_values, {.smoothing = smoothing, .ignored = ignored}).loss;
    return mean_of_counted(losses, label_values, ignored);
  }
  if (ignored) throw Error("loss", "probabilities have no label to ignore");
  if (!(smoothing >= 0.0 && smoothing <= 1.0)) throw Error("loss", "the smoothing must be in [0, 1]");
  auto probabilities = target_of(fields, labels, logit_values, kReader);
  const auto classes = static_cast<double>(logit_values.shape().back(0));
  if (smoothing > 0.0) probabilities = probabilities * (1.0 - smoothing) + smoothing / classes;
  return mean_of_rows(soft_cross_entropy(logit_values, probabilities));
}

std::vector<Metric> SoftmaxCrossEntropy::metrics() const {
  if (soft) return {};
  return {accuracy(logits, labels, ignored)};
}

// For a logit x and a target t, computes the loss log(1 + exp(x)) - x t with softplus, which does not overflow for a
// large x.
Value BinaryCrossEntropy::operator()(const Outputs& outputs, const Inputs& fields) const {
  const auto x = outputs[logits];
  const auto targets = target_of(fields, target, x, "the binary cross-entropy");
  return mean_of_rows(sub(softplus(x), mul(x, targets)));
}

Value MeanSquaredError::operator()(const Outputs& outputs, const Inputs& fields) const {
  const auto d = difference(outputs, fields, output, target, "the mean squared error");
  return mean_of_rows(mul(d, d));
}

Value MeanAbsoluteError::operator()(const Outputs& outputs, const Inputs& fields) const {
  return mean_of_rows(abs(difference(outputs, fields, output, target, "the mean absolute error")));
}

Value Huber::operator()(const Outputs& outputs, const Inputs& fields) const {
  if (!(delta > 0.0)) throw Error("huber", "delta must be above 0");
  const auto d = difference(outputs, fields, output, target, "the Huber loss");
  const auto size = abs(d);
  const auto near = less_equal(size, number(d.builder(), delta));
  return mean_of_rows(where(near, mul(d, d) * 0.5, (size - delta / 2.0) * delta));
}

Value WeightedByRow::operator()(const Outputs& outputs, const Inputs& fields) const {
  const auto losses = loss(outputs, fields);
  const auto shape = fields.info(weight).shape;
  const Shape weight_shape = shape.rank() == 2 && shape[1] == 1 ? shape : Shape{kBatch};
  const auto weights = fields.expect(weight, {weight_shape, DType::float32}, "the weights of the rows");
  return mul(losses, weight_shape.rank() == 2 ? reshape(weights, {kBatch}) : weights);
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
