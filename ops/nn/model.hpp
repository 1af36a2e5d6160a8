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

/// The fields of a batch as values of a graph that is being built. A field becomes an input of the graph, and is loaded
/// in each step, only if the model, the loss or a metric reads it. Copies of an Inputs share the values. An Inputs must
/// not be used after the builder is destroyed.
class Inputs {
 public:
  Inputs(GraphBuilder& builder, std::vector<Field> fields);

  /// The field `name`, which becomes an input of the graph. Throws Error that lists the fields if there is none of that
  /// name.
  Value operator[](const std::string& name) const;
  /// The field `name`, which becomes an input of the graph and must have the shape and dtype `needed`. Throws Error
  /// that names `reader`, the field and `needed` if the field has another shape or dtype, and Error that lists the
  /// fields if there is none of that name.
  Value expect(const std::string& name, const TensorInfo& needed, const std::string& reader) const;
  bool has(const std::string& name) const;
  /// The shape and dtype of the field `name`. The call does not make the field an input of the graph. Throws Error that
  /// lists the fields if there is none of that name.
  const TensorInfo& info(const std::string& name) const;
  const std::vector<Field>& fields() const { return fields_; }
  GraphBuilder& builder() const { return *builder_; }

 private:
  GraphBuilder* builder_;
  std::vector<Field> fields_;
  std::shared_ptr<std::vector<Value>> values_;  // by field; an invalid Value until the field is read
};

/// The results of a model, which have names, in the order in which they were added.
class Outputs {
 public:
  /// The outputs of a model with one result, which is named "output".
  Outputs(Value value);  // NOLINT: a value is accepted as the outputs
  Outputs(std::initializer_list<std::pair<std::string, Value>> values);

  void add(const std::string& name, Value value);
  /// The output `name`, or the only output if the name is empty. Throws Error that lists the outputs if there is no
  /// output of that name, or if the name is empty and there are several outputs.
  Value operator[](const std::string& name) const;
  const std::vector<std::pair<std::string, Value>>& entries() const { return entries_; }

 private:
  std::vector<std::pair<std::string, Value>> entries_;
};

/// A function from the fields of a batch to named results. A function from a value to a value, such as a Sequential, is
/// accepted, too: it gets the field named `field`, or the first field if the name is empty, and its result is named
/// "output".
class Model {
 public:
  template <class Function>
  requires std::is_invocable_r_v<Value, const Function&, Value> Model(
      Function function, std::string field = {})  // NOLINT: a function is accepted as a model
      : function_(of_one_field(std::move(function), std::move(field))) {}
  template <class Function>
  requires(!std::is_invocable_v<const Function&, Value> &&
           std::is_invocable_r_v<Outputs, const Function&, const Inputs&> && !std::is_same_v<Function, Model>)
      Model(Function function)
      : function_(std::move(function)) {}  // NOLINT: a function is accepted as a model

  Outputs operator()(const Inputs& inputs) const { return function_(inputs); }

 private:
  using Apply = std::function<Outputs(const Inputs&)>;
  static Apply of_one_field(std::function<Value(Value)> function, std::string field);

  Apply function_;
};

}  // namespace troupe
