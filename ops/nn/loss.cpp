#include "troupe/ops/nn/loss.hpp"

#include <numeric>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/elementwise.hpp"
#include "troupe/ops/reduce.hpp"
#include "troupe/ops/softmax.hpp"

namespace troupe {

namespace {

const std::string& field_name(const std::string& name, const Inputs& fields) {
  return name.empty() ? fields.fields().back().name : name;
}

Value logits_of(const Outputs& outputs, const std::string& name, const std::string& reader) {
  const auto logits = outputs[name];
  if (logits.shape().rank() != 2 || logits.dtype() != DType::float32)
    throw Error("loss", "the model's output is " + to_string(logits.info()) + ", but " + reader +
                            " needs logits float32[B, C]");
  return logits;
}

Value labels_of(const Inputs& fields, const std::string& name, const std::string& reader) {
  return fields.expect(field_name(name, fields), {Shape{kBatch}, DType::int32}, reader);
}

/// [B]: the mean over the elements of every row.
Value squared_error(const Outputs& outputs, const Inputs& fields, const std::string& output,
                    const std::string& target) {
  const auto y = outputs[output];
  const auto difference = sub(y, fields.expect(field_name(target, fields), y.info(), "the mean squared error"));
  std::vector<std::int64_t> axes(y.shape().rank() - 1);
  std::iota(axes.begin(), axes.end(), 1);
  const auto square = mul(difference, difference);
  return axes.empty() ? square : reduce_mean(square, axes);
}

}  // namespace

Metric accuracy(const std::string& logits, const std::string& labels) {
  return {"accuracy", [=](const Outputs& outputs, const Inputs& fields) -> MetricSums {
            return count_correct(logits_of(outputs, logits, "the accuracy"), labels_of(fields, labels, "the accuracy"));
          }};
}

Metric mean_squared_error(const std::string& output, const std::string& target) {
  return {"mean_squared_error", [=](const Outputs& outputs, const Inputs& fields) -> MetricSums {
            return reduce_sum(squared_error(outputs, fields, output, target), std::vector<std::int64_t>{0});
          }};
}

Value SoftmaxCrossEntropy::operator()(const Outputs& outputs, const Inputs& fields) const {
  constexpr const char* kReader = "the softmax cross-entropy";
  return softmax_cross_entropy(logits_of(outputs, logits, kReader), labels_of(fields, labels, kReader)).loss;
}

Value MeanSquaredError::operator()(const Outputs& outputs, const Inputs& fields) const {
  return squared_error(outputs, fields, output, target);
}

}  // namespace troupe
