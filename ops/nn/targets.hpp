#pragma once

#include <string>

#include "troupe/ops/nn/model.hpp"

namespace troupe {

// Losses and metrics read outputs of a model and fields of a batch through these functions. An empty name means the
// only output, or the last field. A function throws Error that names `reader` if the output or field has another shape
// or dtype, and Error that lists the names if there is none of that name.

/// Returns the output `name`, which must be logits float32 [B, ..., C].
Value logits_of(const Outputs& outputs, const std::string& name, const std::string& reader);
/// Returns the field `name`, which must be labels for the logits, int32 [B, ...].
Value labels_of(const Inputs& fields, const std::string& name, Value logits, const std::string& reader);
/// Returns the field `name`, which must have the shape and dtype of the output.
Value target_of(const Inputs& fields, const std::string& name, Value output, const std::string& reader);

/// Returns [B], the sum of x [B, ...] over all axes but the first.
Value sum_of_rows(Value x);
/// Returns [B], the mean of x [B, ...] over all axes but the first.
Value mean_of_rows(Value x);
/// Returns a scalar, the sum of all elements of x.
Value sum_of_all(Value x);

}  // namespace troupe
