#pragma once

#include <string>

#include "troupe/ops/graph/op.hpp"

namespace troupe {

/// One part of every sample of a data set, such as an image or a label: its name, and its shape and dtype in a batch.
/// The leading size is kBatch.
struct Field {
  std::string name;
  TensorInfo info;

  bool operator==(const Field&) const = default;
};

/// The field as `'label' int32[B]`.
inline std::string to_string(const Field& field) {
  return "'" + field.name + "' " + to_string(field.info);
}

}  // namespace troupe
