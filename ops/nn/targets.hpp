#pragma once

#include <optional>
#include <string>

#include "troupe/ops/nn/model.hpp"

namespace troupe {

// Losses and metrics read the outputs of a model and the fields of a batch through logits_of(), labels_of() and
// target_of(). An empty name means the only output of the model, or the last field of the batch. These functions throw
// Error that names `reader`, the loss or metric, if the output or field has another shape or dtype, and Error that
// lists the names if there is no output or field of that name.

/// Returns the output `name`, which must be logits float32 [B, ..., C].
Value logits_of(const Outputs& outputs, const std::string& name, const std::string& reader);
/// Returns the field `name`, which must be labels int32 [B, ...]: one label for each vector of logits.
Value labels_of(const Inputs& fields, const std::string& name, Value logits, const std::string& reader);
/// Labels as numbers of classes, and the labels that count.
struct CountedLabels {
  Value labels;  ///< int32; 0 in place of each ignored label
  Value counts;  ///< float32 of the same shape; 1 for a label that counts, 0 for an ignored label
};
/// Returns the labels, int32, with those equal to `ignored` replaced. The labels must be below 2^24.
CountedLabels counted_labels(Value labels, std::optional<std::int32_t> ignored);
/// Returns the field `name`, which must have the shape and dtype of `output`.
Value target_of(const Inputs& fields, const std::string& name, Value output, const std::string& reader);

/// Returns the sum of each row of x [B, ...], that is, over all axes but the first. The result has the shape [B] and
/// the dtype of x.
Value sum_of_rows(Value x);
/// Returns the mean of each row of x [B, ...], that is, over all axes but the first. The result has the shape [B] and
/// the dtype of x.
Value mean_of_rows(Value x);
/// Returns the sum of all elements of x, a scalar of the dtype of x.
Value sum_of_all(Value x);

}  // namespace troupe
