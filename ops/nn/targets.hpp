#pragma once

#include <string>

#include "troupe/ops/nn/model.hpp"

namespace troupe {

// What losses and metrics read: outputs of a model and the fields that belong to them. An empty name means the only
// output, and the last field. `reader` is named by the Error that is thrown if they do not fit.

/// An output that must be logits, float32[B, ..., C].
Value logits_of(const Outputs& outputs, const std::string& name, const std::string& reader);
/// A field that must be the labels of logits: int32[B, ...].
Value labels_of(const Inputs& fields, const std::string& name, Value logits, const std::string& reader);
/// A field that must be like an output.
Value target_of(const Inputs& fields, const std::string& name, Value output, const std::string& reader);

/// x [B, ...] averaged over all axes but the first: [B].
Value mean_of_rows(Value x);
/// The sum of all elements: a scalar.
Value sum_of_all(Value x);

}  // namespace troupe
