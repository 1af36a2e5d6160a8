#pragma once

#include <span>
#include <string>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/op.hpp"

namespace troupe {

/// A field of a data set, which every sample has, such as an image or a label: the name of the field, and its shape and
/// dtype in a batch. The leading size of the shape is kBatch.
struct Field {
  std::string name;
  TensorInfo info;

  bool operator==(const Field&) const = default;
};

/// The field as text, such as `'label' int32[B]`.
inline std::string to_string(const Field& field) {
  return "'" + field.name + "' " + to_string(field.info);
}

/// The index of the field named `name`. If there is no such field, throws Error that lists the fields; the text of the
/// error begins with `place` in brackets.
inline std::size_t index_of_field(std::span<const Field> fields, const std::string& name, const char* place) {
  std::string list;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return i;
    list += (i > 0 ? ", " : "") + to_string(fields[i]);
  }
  throw Error(place, "there is no field '" + name + "' among " + list);
}

}  // namespace troupe
