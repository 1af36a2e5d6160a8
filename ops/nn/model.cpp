#include "troupe/ops/nn/model.hpp"

#include <algorithm>

#include "troupe/ops/core/error.hpp"

namespace troupe {

Inputs::Inputs(GraphBuilder& builder, std::vector<Field> fields)
    : builder_(&builder), fields_(std::move(fields)), values_(std::make_shared<std::vector<Value>>(fields_.size())) {}

bool Inputs::has(const std::string& name) const {
  return std::ranges::any_of(fields_, [&](const Field& field) { return field.name == name; });
}

const Field& Inputs::find(const std::string& name) const {
  std::string names;
  for (const auto& field : fields_) {
    if (field.name == name) return field;
    names += (names.empty() ? "" : ", ") + to_string(field);
  }
  throw Error("field", "there is no field '" + name + "' among " + names);
}

Value Inputs::operator[](const std::string& name) const {
  const auto& field = find(name);
  auto& value = (*values_)[static_cast<std::size_t>(&field - fields_.data())];
  if (!value.valid()) value = builder_->input(name, field.info.shape, field.info.dtype);
  return value;
}

Value Inputs::expect(const std::string& name, const TensorInfo& info, const std::string& reader) const {
  const auto& field = find(name);
  if (!(field.info == info))
    throw Error("field", "field " + to_string(field) + " is read by " + reader + ", which needs " + to_string(info));
  return (*this)[name];
}

Outputs::Outputs(Value value) : entries_{{"output", value}} {}

Outputs::Outputs(std::initializer_list<std::pair<std::string, Value>> values) {
  for (const auto& [name, value] : values) add(name, value);
}

void Outputs::add(const std::string& name, Value value) {
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
