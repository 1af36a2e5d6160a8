#include "troupe/ops/nn/model.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/core/name.hpp"

namespace troupe {

Inputs::Inputs(GraphBuilder& builder, std::vector<Field> fields)
    : builder_(&builder), fields_(std::move(fields)), values_(std::make_shared<std::vector<Value>>(fields_.size())) {}

bool Inputs::has(const std::string& name) const {
  return std::ranges::any_of(fields_, [&](const Field& field) { return field.name == name; });
}

const TensorInfo& Inputs::info(const std::string& name) const {
  return fields_[index_of_field(fields_, name, "field")].info;
}

Value Inputs::operator[](const std::string& name) const {
  const auto index = index_of_field(fields_, name, "field");
  auto& value = (*values_)[index];
  if (!value.valid()) value = builder_->input(name, fields_[index].info.shape, fields_[index].info.dtype);
  return value;
}

Value Inputs::expect(const std::string& name, const TensorInfo& needed, const std::string& reader) const {
  const Field field{name, info(name)};
  if (!(field.info == needed))
    throw Error("field", "field " + to_string(field) + " is read by " + reader + ", which needs " + to_string(needed));
  return (*this)[name];
}

Outputs::Outputs(Value value) : entries_{{"output", value}} {}

Outputs::Outputs(std::initializer_list<std::pair<std::string, Value>> values) {
  for (const auto& [name, value] : values) add(name, value);
}

void Outputs::add(const std::string& name, Value value) {
  expect_name("model", "an output", name);
  for (const auto& [existing, unused] : entries_)
    if (existing == name) throw Error("model", "there are two outputs named '" + name + "'");
  if (!value.valid()) throw Error("model", "output '" + name + "' is no value");
  entries_.emplace_back(name, value);
}

Value Outputs::operator[](const std::string& name) const {
  std::string names;
  for (const auto& [existing, value] : entries_) {
    if (existing == name || (name.empty() && entries_.size() == 1)) return value;
    names += (names.empty() ? "'" : ", '") + existing + "'";
  }
  if (name.empty()) throw Error("model", "it has several outputs: name one of " + names);
  throw Error("model", "there is no output '" + name + "' among " + names);
}

Model::Apply Model::of_one_field(std::function<Value(Value)> function, std::string field) {
  return [function = std::move(function), field = std::move(field)](const Inputs& inputs) -> Outputs {
    const auto x = inputs[field.empty() ? inputs.fields().at(0).name : field];
    return function(x);
  };
}

}  // namespace troupe
