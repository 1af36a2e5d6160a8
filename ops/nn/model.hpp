#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "troupe/ops/data/field.hpp"
#include "troupe/ops/graph/graph.hpp"

namespace troupe {

/// The fields of a batch as values of a graph under construction. Only fields that are read become inputs of the graph,
/// and only those are loaded. Valid as long as the builder.
class Inputs {
 public:
  Inputs(GraphBuilder& builder, std::vector<Field> fields);

  /// Throws Error that lists the fields if there is none of that name.
  Value operator[](const std::string& name) const;
  /// As above, where the field must be this; the Error says what it is and that `reader` needs it otherwise.
  Value expect(const std::string& name, const TensorInfo& info, const std::string& reader) const;
  bool has(const std::string& name) const;
  /// What a field is, whether or not it is read. Throws Error like the first.
  const TensorInfo& info(const std::string& name) const { return find(name).info; }
  const std::vector<Field>& fields() const { return fields_; }
  GraphBuilder& builder() const { return *builder_; }

 private:
  const Field& find(const std::string& name) const;

  GraphBuilder* builder_;
  std::vector<Field> fields_;
  std::shared_ptr<std::vector<Value>> values_;  // by field; invalid until it is read
};

/// The results of a model, by name, in the order in which it gives them.
class Outputs {
 public:
  /// One result, named "output".
  Outputs(Value value);  // NOLINT: a value is the outputs of a model that has one
  Outputs(std::initializer_list<std::pair<std::string, Value>> values);

  void add(const std::string& name, Value value);
  /// The output of that name, or with an empty name the only one. Throws Error that lists the outputs if there is none.
  Value operator[](const std::string& name) const;
  const std::vector<std::pair<std::string, Value>>& entries() const { return entries_; }

 private:
  std::vector<std::pair<std::string, Value>> entries_;
};

/// A model: any function from the fields of a batch to named results. A function from a value to a value, such as a
/// Sequential, reads the first field, or the one that is named.
class Model {
 public:
  template <class Function>
  requires std::is_invocable_r_v<Value, const Function&, Value> Model(
      Function function, std::string field = {})  // NOLINT: such a function is a model
      : function_(of_one_field(std::move(function), std::move(field))) {}
  template <class Function>
  requires(!std::is_invocable_v<const Function&, Value> &&
           std::is_invocable_r_v<Outputs, const Function&, const Inputs&> && !std::is_same_v<Function, Model>)
      Model(Function function)
      : function_(std::move(function)) {}  // NOLINT: such a function is a model

  Outputs operator()(const Inputs& inputs) const { return function_(inputs); }

 private:
  using Apply = std::function<Outputs(const Inputs&)>;
  static Apply of_one_field(std::function<Value(Value)> function, std::string field);

  Apply function_;
};

}  // namespace troupe
