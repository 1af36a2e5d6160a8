#include "troupe/ops/pipeline/row.hpp"

#include <algorithm>
#include <stdexcept>

#include "troupe/ops/core/error.hpp"

namespace troupe {

namespace {

bool fits(const RowField& field, const Tensor& value) {
  const auto sizes = value.shape().sizes();
  return value.dtype() == field.dtype &&
         std::ranges::equal(sizes, field.sizes, [](std::int64_t size, std::int64_t declared) {
           return declared == RowField::kVaries || size == declared;
         });
}

}  // namespace

std::string to_string(const RowField& field) {
  std::string text = "'" + field.name + "' " + std::string(name_of(field.dtype)) + "[";
  for (std::size_t axis = 0; axis < field.sizes.size(); ++axis) {
    const auto size = field.sizes[axis];
    text += (axis > 0 ? ", " : "") + (size == RowField::kVaries ? "?" : std::to_string(size));
  }
  return text + "]";
}

std::string to_string(const RowFields& fields) {
  std::string text;
  for (const auto& field : fields) text += (text.empty() ? "" : ", ") + to_string(field);
  return text;
}

std::size_t index_of(const RowFields& fields, std::string_view name) {
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (fields[i].name == name) return i;
  throw Error("pipeline", "there is no field '" + std::string(name) + "' among " + to_string(fields));
}

void check_fields(const RowFields& fields) {
  if (fields.empty()) throw Error("pipeline", "a row needs a field");
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto& field = fields[i];
    if (field.name.empty()) throw Error("pipeline", "field " + std::to_string(i) + " has no name");
    if (field.sizes.size() > Shape::kMaxRank ||
        std::ranges::any_of(field.sizes, [](std::int64_t size) { return size < RowField::kVaries; }))
      throw Error("pipeline", "a row cannot have the field " + to_string(field));
    for (std::size_t k = 0; k < i; ++k)
      if (fields[k].name == field.name) throw Error("pipeline", "two fields have the name '" + field.name + "'");
  }
}

std::string to_string(const RowOrigin& origin) {
  if (origin.source == nullptr) return "row " + std::to_string(origin.number);
  return "row " + std::to_string(origin.number) + " of '" + *origin.source + "'";
}

void check_row(const RowFields& fields, const Row& row) {
  if (row.values.size() != fields.size())
    throw std::invalid_argument("the row has " + std::to_string(row.values.size()) + " values for " +
                                std::to_string(fields.size()) + " fields");
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto& value = row.values[i];
    if (!value) throw std::invalid_argument("the field " + to_string(fields[i]) + " has not been set");
    if (!fits(fields[i], value))
      throw std::invalid_argument("the field " + to_string(fields[i]) + " is " + to_string(value));
  }
}

}  // namespace troupe
