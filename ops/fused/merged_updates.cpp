#include "troupe/ops/fused/merged_updates.hpp"

#include <algorithm>
#include <array>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/graph.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

const TensorInfo kScalar{Shape{}, DType::float32};

/// An op that updates one parameter, and the op that merges several of these updates.
struct Form {
  const OpDef* single;
  const OpDef* merged;
  /// True if the last stored input of a parameter is the number of its updates, a float32 scalar.
  bool counted;
  /// Returns the number of stored inputs per parameter: the parameter itself, its states and the number of updates.
  std::size_t (*stored)(const Attributes& attributes);
};

constexpr std::array kForms{
    Form{&kSgdUpdate, &kSgdUpdates, false,
         [](const Attributes& attributes) { return std::size_t{attributes.number("momentum") != 0.0 ? 2U : 1U}; }},
    Form{&kAdamUpdate, &kAdamUpdates, true, [](const Attributes&) { return std::size_t{4}; }},
    Form{&kSquaresUpdate, &kSquaresUpdates, false, [](const Attributes&) { return std::size_t{2}; }},
};

const Form& form_of(const OpDef& merged) {
  const auto form = std::ranges::find(kForms, &merged, &Form::merged);
  if (form == kForms.end()) throw Error(merged.name, "is not an op that updates several parameters");
  return *form;
}

/// The number of parameters that an op with `inputs` inputs updates; 0 if `inputs` does not fit any whole number of
/// parameters. One shared input more than the attributes require is a flag, and the updates are applied only if it is
/// above 0.
std::size_t parameters_of(const Form& form, const Attributes& attributes, std::size_t inputs) {
  const std::size_t shared = 1 + (attributes.flag("clipped") ? 1 : 0);
  const auto per_parameter = form.stored(attributes) + 1;
  if (inputs < shared || (inputs - shared) % per_parameter > 1) return 0;
  return (inputs - shared) / per_parameter;
}

template <const OpDef& merged>
std::vector<TensorInfo> infer_merged(const OpInputs& inputs) {
  const auto& form = form_of(merged);
  const MergedUpdate update{parameters_of(form, inputs.attributes, inputs.size()), form.stored(inputs.attributes)};
  if (update.parameters == 0) inputs.refuse("needs the same number of states and one gradient for every parameter");
  if (inputs.attributes.has(kRowSparse)) inputs.refuse("cannot update row-sparse parameters");
  std::vector<TensorInfo> outputs;
  for (std::size_t i = 0; i < update.parameters; ++i) {
    const auto& info = inputs[update.first_stored(i)];
    bool alike = inputs[update.gradient(i)] == info;
    const auto states = update.stored - (form.counted ? 1 : 0);
    for (std::size_t k = 0; k < states; ++k) alike = alike && inputs[update.first_stored(i) + k] == info;
    if (!alike) inputs.refuse("a parameter, its states and its gradient must have the same shape and dtype");
    outputs.insert(outputs.end(), states, info);
    if (!form.counted) continue;
    inputs.expect_info(update.first_stored(i) + states, kScalar, "the number of updates");
    outputs.push_back(kScalar);
  }
  for (auto i = update.first_shared(); i < inputs.size(); ++i)
    inputs.expect_info(i, kScalar, "the learning rate, factor or flag");
  return outputs;
}

}  // namespace

const OpDef kSgdUpdates{
    .name = "sgd_updates", .kind = OpKind::update, .infer = infer_merged<kSgdUpdates>, .accepts_empty = true};
const OpDef kAdamUpdates{
    .name = "adam_updates", .kind = OpKind::update, .infer = infer_merged<kAdamUpdates>, .accepts_empty = true};
const OpDef kSquaresUpdates{
    .name = "squares_updates", .kind = OpKind::update, .infer = infer_merged<kSquaresUpdates>, .accepts_empty = true};

const OpDef* merged_op_of(const OpDef& update) {
  const auto form = std::ranges::find(kForms, &update, &Form::single);
  return form == kForms.end() ? nullptr : form->merged;
}

const OpDef& single_op_of(const OpDef& merged) {
  return *form_of(merged).single;
}

MergedUpdate merged_update(const OpDef& merged, const Attributes& attributes, std::size_t inputs) {
  const auto& form = form_of(merged);
  const auto parameters = parameters_of(form, attributes, inputs);
  if (parameters == 0)
    throw Error(merged.name, std::to_string(inputs) + " inputs are not those of a whole number of parameters");
  return {parameters, form.stored(attributes)};
}

}  // namespace troupe
