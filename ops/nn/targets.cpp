#include "troupe/ops/nn/targets.hpp"

#include <algorithm>
#include <numeric>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/library/cast.hpp"
#include "troupe/ops/library/compare.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/reduce.hpp"

namespace troupe {

namespace {

const std::string& field_name(const std::string& name, const Inputs& fields) {
  return name.empty() ? fields.fields().back().name : name;
}

std::vector<std::int64_t> axes_from(std::int64_t first, Value x) {
  const auto rank = static_cast<std::int64_t>(x.shape().rank());
  std::vector<std::int64_t> axes(static_cast<std::size_t>(std::max<std::int64_t>(0, rank - first)));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

}  // namespace

Value logits_of(const Outputs& outputs, const std::string& name, const std::string& reader) {
  const auto logits = outputs[name];
  if (logits.shape().rank() < 2 || logits.dtype() != DType::float32)
    throw Error("loss", "the model's output is " + to_string(logits.info()) + ", but " + reader +
                            " needs logits float32[B, ..., C]");
  return logits;
}

Value labels_of(const Inputs& fields, const std::string& name, Value logits, const std::string& reader) {
  const auto shape = logits.shape();
  return fields.expect(field_name(name, fields), {Shape(shape.sizes().first(shape.rank() - 1)), DType::int32}, reader);
}

CountedLabels counted_labels(Value labels, std::optional<std::int32_t> ignored) {
  auto& builder = labels.builder();
  if (!ignored) return {labels, cast(equal(labels, labels), DType::float32)};
  const auto is_counted = not_equal(labels, builder.constant(Tensor::scalar(*ignored)));
  const auto zero = builder.constant(Tensor::scalar(0.0F));
  return {cast(where(is_counted, cast(labels, DType::float32), zero), DType::int32), cast(is_counted, DType::float32)};
}

Value target_of(const Inputs& fields, const std::string& name, Value output, const std::string& reader) {
  return fields.expect(field_name(name, fields), output.info(), reader);
}

Value sum_of_rows(Value x) {
  const auto axes = axes_from(1, x);
  return axes.empty() ? x : reduce_sum(x, axes);
}

Value mean_of_rows(Value x) {
  const auto axes = axes_from(1, x);
  return axes.empty() ? x : reduce_mean(x, axes);
}

Value sum_of_all(Value x) {
  return reduce_sum(x, axes_from(0, x));
}

}  // namespace troupe
