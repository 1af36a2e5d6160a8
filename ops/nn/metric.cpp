#include "troupe/ops/nn/metric.hpp"

#include "troupe/ops/library/cast.hpp"
#include "troupe/ops/library/compare.hpp"
#include "troupe/ops/library/gather.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/library/softmax.hpp"
#include "troupe/ops/library/top_k.hpp"
#include "troupe/ops/nn/loss.hpp"
#include "troupe/ops/nn/targets.hpp"

namespace troupe {

namespace {

/// Returns a float32 scalar, the number of elements of x [B, ...] in the rows that this replica computes. x must have
/// no NaN: the function counts the elements that equal themselves, which NaN does not.
Value count_of(Value x) {
  return sum_of_all(cast(equal(x, x), DType::float32));
}

Value ignored_label(Value labels, std::int32_t ignored) {
  return labels.builder().constant(Tensor::scalar(ignored));
}

Metric mean_of_loss(const char* name, const Loss& loss) {
  return {name, [loss](const Outputs& outputs, const Inputs& fields) -> MetricSums {
            return sum_of_all(loss(outputs, fields));
          }};
}

}  // namespace

Metric accuracy(const std::string& logits, const std::string& labels, std::optional<std::int32_t> ignored) {
  return {"accuracy", [=](const Outputs& outputs, const Inputs& fields) -> MetricSums {
            const auto logit_values = logits_of(outputs, logits, "the accuracy");
            const auto label_values = labels_of(fields, labels, logit_values, "the accuracy");
            const auto correct = count_correct(logit_values, label_values, ignored);
            if (!ignored && label_values.shape().rank() == 1) return correct;
            if (!ignored) return {correct, count_of(label_values)};
            const auto counted = not_equal(label_values, ignored_label(label_values, *ignored));
            return {correct, sum_of_all(cast(counted, DType::float32))};
          }};
}

Metric top_k_accuracy(std::int64_t k, const std::string& logits, const std::string& labels) {
  return {"top_" + std::to_string(k) + "_accuracy", [=](const Outputs& outputs, const Inputs& fields) -> MetricSums {
            const auto logit_values = logits_of(outputs, logits, "the top-k accuracy");
            const auto label_values = labels_of(fields, labels, logit_values, "the top-k accuracy");
            auto column = label_values.shape().list();
            column.push_back(1);
            const auto hits = equal(top_k(logit_values, k).indices, reshape(label_values, Shape(column)));
            return {sum_of_all(cast(hits, DType::float32)), count_of(label_values)};
          }};
}

Metric mean_squared_error(const std::string& output, const std::string& target) {
  return mean_of_loss("mean_squared_error", MeanSquaredError{output, target});
}

Metric mean_absolute_error(const std::string& output, const std::string& target) {
  return mean_of_loss("mean_absolute_error", MeanAbsoluteError{output, target});
}

Metric confusion_matrix(const std::string& logits, const std::string& labels) {
  return {"confusion_matrix", [=](const Outputs& outputs, const Inputs& fields) -> MetricSums {
            const auto logit_values = logits_of(outputs, logits, "the confusion matrix");
            const auto label_values = labels_of(fields, labels, logit_values, "the confusion matrix");
            const auto classes = logit_values.shape().back(0);
            const auto last = static_cast<std::int64_t>(logit_values.shape().rank()) - 1;
            const auto table = outer_sum(one_hot(label_values, classes), one_hot(argmax(logit_values, last), classes));
            return {table, count_of(label_values)};
          }};
}

}  // namespace troupe
