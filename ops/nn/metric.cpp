#include "troupe/ops/nn/metric.hpp"

#include "troupe/ops/library/cast.hpp"
#include "troupe/ops/library/compare.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/gather.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/reshape.hpp"
#include "troupe/ops/library/softmax.hpp"
#include "troupe/ops/library/top_k.hpp"
#include "troupe/ops/nn/loss.hpp"
#include "troupe/ops/nn/targets.hpp"

namespace troupe {

namespace {

/// x [...] as a column [..., 1].
Value column_of(Value x) {
  auto sizes = x.shape().list();
  sizes.push_back(1);
  return reshape(x, Shape(sizes));
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
            return {correct, sum_of_all(counted_labels(label_values, ignored).counts)};
          }};
}

Metric top_k_accuracy(std::int64_t k, const std::string& logits, const std::string& labels,
                      std::optional<std::int32_t> ignored) {
  return {"top_" + std::to_string(k) + "_accuracy", [=](const Outputs& outputs, const Inputs& fields) -> MetricSums {
            const auto logit_values = logits_of(outputs, logits, "the top-k accuracy");
            const auto label_values = labels_of(fields, labels, logit_values, "the top-k accuracy");
            const auto counts = counted_labels(label_values, ignored).counts;
            const auto hits = cast(equal(top_k(logit_values, k).indices, column_of(label_values)), DType::float32);
            return {sum_of_all(ignored ? mul(hits, column_of(counts)) : hits), sum_of_all(counts)};
          }};
}

Metric mean_squared_error(const std::string& output, const std::string& target) {
  return mean_of_loss("mean_squared_error", MeanSquaredError{output, target});
}

Metric mean_absolute_error(const std::string& output, const std::string& target) {
  return mean_of_loss("mean_absolute_error", MeanAbsoluteError{output, target});
}

Metric confusion_matrix(const std::string& logits, const std::string& labels, std::optional<std::int32_t> ignored) {
  return {"confusion_matrix", [=](const Outputs& outputs, const Inputs& fields) -> MetricSums {
            const auto logit_values = logits_of(outputs, logits, "the confusion matrix");
            const auto label_values = labels_of(fields, labels, logit_values, "the confusion matrix");
            const auto classes = logit_values.shape().back(0);
            const auto last = static_cast<std::int64_t>(logit_values.shape().rank()) - 1;
            const auto counted = counted_labels(label_values, ignored);
            auto of_labels = one_hot(counted.labels, classes);
            if (ignored) of_labels = mul(of_labels, column_of(counted.counts));
            const auto table = outer_sum(of_labels, one_hot(argmax(logit_values, last), classes));
            return {table, sum_of_all(counted.counts)};
          }};
}

}  // namespace troupe
