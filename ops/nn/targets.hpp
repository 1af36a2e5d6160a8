#pragma once

#include <string>

#include "troupe/ops/nn/model.hpp"

namespace troupe {

// Outputs of a model and fields of a batch, as losses and metrics read them. An empty name means the only output, or
// the last field. The Error that is thrown if one does not fit names `reader`.

/// An output that must be logits, float32[B, ..., C].
Value logits_of(const Outputs& outputs, const std::string& name, const std::string& reader);
/// A field that must be labels for the logits, int32[B, ...].
Value labels_of(const Inputs& fields, const std::string& name, Value logits, const std::string& reader);
/// A field that must have the shape and dtype of the output.
Value target_of(const Inputs& fields, const std::string& name, Value output, const std::string& reader);

/// The sum of x [B, ...] over all axes but the first: [B].
Value sum_of_rows(Value x);
/// The mean of x [B, ...] over all axes but the first: [B].
Value mean_of_rows(Value x);
/// The sum of all elements: a scalar.
Value sum_of_all(Value x);

}  // namespace troupe
