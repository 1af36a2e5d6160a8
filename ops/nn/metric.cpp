#include "troupe/ops/nn/metric.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/library/cast.hpp"
#include "troupe/ops/library/compare.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/gather.hpp"
#include "troupe/ops/library/math.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/library/softmax.hpp"
#include "troupe/ops/library/top_k.hpp"
#include "troupe/ops/nn/targets.hpp"

namespace troupe {

namespace {

/// The number of elements of x [B, ...] in all rows of this replica: a scalar.
Value count_of(Value x) {
  return sum_of_all(cast(equal(x, x), DType::float32));
}

Value ignored_label(Value labels, std::int32_t ignored) {
  return labels.builder().constant(Tensor::scalar(ignored));
}

}  // namespace

Metric accuracy(const std::string& logits, const std::string& labels, std::optional<std::int32_t> ignored) {
  return {"accuracy", [=](const Outputs& outputs, const Inputs& fields) -> MetricSums {
            const auto of_model = logits_of(outputs, logits, "the accuracy");
            const auto wanted = labels_of(fields, labels, of_model, "the accuracy");
            const auto correct = count_correct(of_model, wanted, ignored);
            if (!ignored && wanted.shape().rank() == 1) return correct;
            const auto counted = ignored ? not_equal(wanted, ignored_label(wanted, *ignored)) : equal(wanted, wanted);
            return {correct, sum_of_all(cast(counted, DType::float32))};
          }};
}

Metric top_k_accuracy(std::int64_t k, const std::string& logits, const std::string& labels) {
  return {"top_" + std::to_string(k) + "_accuracy", [=](const Outputs& outputs, const Inputs& fields) -> MetricSums {
            const auto of_model = logits_of(outputs, logits, "the top-k accuracy");
            const auto wanted = labels_of(fields, labels, of_model, "the top-k accuracy");
            auto column = wanted.shape().list();
            column.push_back(1);
            const auto hits = equal(top_k(of_model, k).indices, reshape(wanted, Shape(column)));
            return {sum_of_all(cast(hits, DType::float32)), count_of(wanted)};
          }};
}

Metric mean_squared_error(const std::string& output, const std::string& target) {
  return {"mean_squared_error", [=](const Outputs& outputs, const Inputs& fields) -> MetricSums {
            const auto y = outputs[output];
            const auto difference = sub(y, target_of(fields, target, y, "the mean squared error"));
            return sum_of_all(mean_of_rows(mul(difference, difference)));
          }};
}

Metric mean_absolute_error(const std::string& output, const std::string& target) {
  return {"mean_absolute_error", [=](const Outputs& outputs, const Inputs& fields) -> MetricSums {
            const auto y = outputs[output];
            return sum_of_all(mean_of_rows(abs(sub(y, target_of(fields, target, y, "the mean absolute error")))));
          }};
}

Metric confusion_matrix(const std::string& logits, const std::string& labels) {
  return {"confusion_matrix", [=](const Outputs& outputs, const Inputs& fields) -> MetricSums {
            const auto of_model = logits_of(outputs, logits, "the confusion matrix");
            const auto wanted = labels_of(fields, labels, of_model, "the confusion matrix");
            const auto classes = of_model.shape().back(0);
            const auto last = static_cast<std::int64_t>(of_model.shape().rank()) - 1;
            const auto table = outer_sum(one_hot(wanted, classes), one_hot(argmax(of_model, last), classes));
            return {table, count_of(wanted)};
          }};
}

}  // namespace troupe
