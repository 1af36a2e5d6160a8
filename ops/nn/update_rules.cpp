#include "troupe/ops/nn/update_rules.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

// The shape rule of the update ops. The inputs are, in this order: the parameter; the `states` states of the parameter;
// if `counted`, the number of updates that the parameter has had by the rule, a float32 scalar; the gradient; the
// learning rate; a factor of the gradient if the attribute `clipped` is set; and optionally a flag. If the flag is not
// above 0, no output changes. With the attribute `row_sparse`, rows whose gradient is zero do not change. The outputs
// are the parameter, its states and the number of updates, which the op overwrites.
template <std::size_t states, bool counted>
std::vector<TensorInfo> infer_update(const OpInputs& inputs) {
  constexpr std::size_t stored = 1 + states + (counted ? 1 : 0);
  const auto required = stored + 2 + (inputs.attributes.flag("clipped") ? 1 : 0);
  inputs.expect_count(required, required + 1);
  for (std::size_t i = 0; i <= stored; ++i)
    if (!(counted && i + 1 == stored) && !(inputs[i] == inputs[0]))
      inputs.refuse("parameter, state and gradient must have the same shape and dtype");
  const TensorInfo scalar{Shape{}, DType::float32};
  if (counted) inputs.expect_info(stored - 1, scalar, "the number of updates");
  for (auto i = stored + 1; i < inputs.size(); ++i) inputs.expect_info(i, scalar, "the learning rate, factor or flag");
  return {inputs.infos.begin(), inputs.infos.begin() + stored};
}

std::vector<TensorInfo> infer_sgd(const OpInputs& inputs) {
  return inputs.attributes.number("momentum") != 0.0 ? infer_update<1, false>(inputs) : infer_update<0, false>(inputs);
}

void refuse_unless(bool good, const char* place, const char* what) {
  if (!good) throw Error(place, what);
}

using States = std::vector<const char*>;

/// The state that counts the updates of a parameter by Adam, AdamW and Lamb. The rules share it, because they share the
/// moments, whose bias depends on the number of updates.
constexpr const char* kUpdatesByAdam = "adam/updates";

/// Adds the update of a parameter by `op`. Also adds the states of the optimizer, which are named after the parameter,
/// such as `NAME/velocity`, and start as zeros. `counter` is the name of the state that counts the updates; null if the
/// op does not need it.
void add_update(const OpDef& op, const UpdateInputs& in, const States& states, const char* counter,
                const Attributes& attributes) {
  auto& builder = in.parameter.builder();
  const auto name = builder.graph().producer(in.parameter.id()).name;
  const bool row_sparse = GraphBuilder::is_row_sparse(builder.graph().producer(in.parameter.id()));
  std::vector<Value> inputs{in.parameter};
  for (const auto* state : states)
    inputs.push_back(builder.state(name + "/" + state, in.parameter.shape(), Initializer::zeros()));
  if (counter != nullptr) inputs.push_back(builder.state(name + "/" + counter, {}, Initializer::zeros()));
  inputs.insert(inputs.end(), {in.gradient, in.learning_rate});
  if (in.factor.valid()) inputs.push_back(in.factor);
  if (in.apply_if.valid()) inputs.push_back(in.apply_if);
  const auto all = attributes.with("clipped", in.factor.valid());
  builder.apply(op, inputs, row_sparse ? all.with(kRowSparse, true) : all);
}

template <class Rule>
Attributes adam_attributes(const Rule& rule, const char* place) {
  refuse_unless(rule.beta1 >= 0.0 && rule.beta1 < 1.0, place, "beta1 must be in [0, 1)");
  refuse_unless(rule.beta2 >= 0.0 && rule.beta2 < 1.0, place, "beta2 must be in [0, 1)");
  refuse_unless(rule.epsilon > 0.0, place, "epsilon must be above 0");
  refuse_unless(rule.weight_decay >= 0.0, place, "the weight decay must not be negative");
  return {{"beta1", rule.beta1}, {"beta2", rule.beta2}, {"epsilon", rule.epsilon}, {"weight_decay", rule.weight_decay}};
}

/// Adds an update by the rule that RmsProp and Adagrad share. The state becomes keep * state + add * g^2 for a gradient
/// g: a mean of squares or a sum of squares, which have names of their own.
void add_squares_update(const UpdateInputs& in, const char* place, const char* state, double keep, double add,
                        double epsilon, double weight_decay) {
  refuse_unless(epsilon > 0.0, place, "epsilon must be above 0");
  refuse_unless(weight_decay >= 0.0, place, "the weight decay must not be negative");
  add_update(kSquaresUpdate, in, {state}, nullptr,
             {{"keep", keep}, {"add", add}, {"epsilon", epsilon}, {"weight_decay", weight_decay}});
}

}  // namespace

const OpDef kSgdUpdate{.name = "sgd_update", .kind = OpKind::update, .infer = infer_sgd};
const OpDef kAdamUpdate{.name = "adam_update", .kind = OpKind::update, .infer = infer_update<2, true>};
const OpDef kLambUpdate{.name = "lamb_update", .kind = OpKind::update, .infer = infer_update<2, true>};
const OpDef kSquaresUpdate{.name = "squares_update", .kind = OpKind::update, .infer = infer_update<1, false>};

void Sgd::update(const UpdateInputs& in) const {
  refuse_unless(momentum >= 0.0 && momentum < 1.0, "sgd", "the momentum must be in [0, 1)");
  refuse_unless(weight_decay >= 0.0, "sgd", "the weight decay must not be negative");
  refuse_unless(!nesterov || momentum > 0.0, "sgd", "Nesterov's rule needs a momentum");
  add_update(kSgdUpdate, in, momentum != 0.0 ? States{"velocity"} : States{}, nullptr,
             {{"momentum", momentum}, {"nesterov", nesterov}, {"weight_decay", weight_decay}});
}

void Adam::update(const UpdateInputs& in) const {
  add_update(kAdamUpdate, in, {"m", "v"}, kUpdatesByAdam, adam_attributes(*this, "adam").with("decoupled", false));
}

void AdamW::update(const UpdateInputs& in) const {
  add_update(kAdamUpdate, in, {"m", "v"}, kUpdatesByAdam, adam_attributes(*this, "adamw").with("decoupled", true));
}

void Lamb::update(const UpdateInputs& in) const {
  const auto& node = in.parameter.builder().graph().producer(in.parameter.id());
  if (GraphBuilder::is_row_sparse(node))
    throw Error("lamb", "takes the size of a whole parameter, and so cannot update some rows of '" + node.name + "'");
  add_update(kLambUpdate, in, {"m", "v"}, kUpdatesByAdam, adam_attributes(*this, "lamb"));
}

void RmsProp::update(const UpdateInputs& in) const {
  refuse_unless(decay >= 0.0 && decay < 1.0, "rms_prop", "the decay must be in [0, 1)");
  add_squares_update(in, "rms_prop", "squares", decay, 1.0 - decay, epsilon, weight_decay);
}

void Adagrad::update(const UpdateInputs& in) const {
  add_squares_update(in, "adagrad", "sum_of_squares", 1.0, 1.0, epsilon, weight_decay);
}

}  // namespace troupe
