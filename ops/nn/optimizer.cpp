#include "troupe/ops/nn/optimizer.hpp"

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

// Inputs of an update: the parameter, its states, the gradient, the learning rate, (adam: the batch info), if the
// attribute `clipped` is set a factor, and optionally a flag, unless which is above 0 nothing changes. Outputs: the
// parameter and its states, in place.
std::vector<TensorInfo> infer_update(const OpInputs& inputs, std::size_t states, std::size_t scalars) {
  const std::size_t clipped = inputs.attributes.flag("clipped") ? 1 : 0;
  const auto required = 2 + states + scalars + clipped;
  inputs.expect_count(required, required + 1);
  std::vector<TensorInfo> outputs;
  for (std::size_t i = 0; i <= states + 1; ++i)
    if (!(inputs[i] == inputs[0])) inputs.refuse("parameter, state and gradient must have the same shape and dtype");
  const TensorInfo scalar{Shape{}, DType::float32};
  inputs.expect_info(states + 2, scalar, "the learning rate");
  for (auto i = required - clipped; i < inputs.size(); ++i) inputs.expect_info(i, scalar, "the factor or flag");
  if (scalars == 2) inputs.expect_batch_info(states + 3);
  for (std::size_t i = 0; i <= states; ++i) outputs.push_back(inputs[i]);
  return outputs;
}

std::vector<TensorInfo> infer_sgd(const OpInputs& inputs) {
  return infer_update(inputs, inputs.attributes.number("momentum") != 0.0 ? 1 : 0, 1);
}

std::vector<TensorInfo> infer_adam(const OpInputs& inputs) {
  return infer_update(inputs, 2, 2);
}

std::vector<TensorInfo> infer_norm_factor(const OpInputs& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs.expect_dtype(i, DType::float32);
  return {{Shape{}, DType::float32}};
}

void add_options(std::vector<Value>& inputs, const UpdateInputs& in) {
  if (in.factor.valid()) inputs.push_back(in.factor);
  if (in.apply_if.valid()) inputs.push_back(in.apply_if);
}

void refuse_unless(bool good, const char* place, const char* what) {
  if (!good) throw Error(place, what);
}

}  // namespace

const OpDef kGlobalNormFactor{.name = "global_norm_factor", .infer = infer_norm_factor, .accepts_empty = true};
const OpDef kSgdUpdate{.name = "sgd_update", .kind = OpKind::update, .infer = infer_sgd};
const OpDef kAdamUpdate{.name = "adam_update", .kind = OpKind::update, .infer = infer_adam};

void Optimizer::apply(std::span<const Value> parameters, std::span<const Value> gradients, Value batch_info,
                      Value apply_if) const {
  auto& builder = batch_info.builder();
  GraphBuilder::Scope scope(builder, "optimizer");
  const auto rate = schedule_.apply(batch_info);
  Value factor;
  if (const auto limit = clip_norm_) {
    if (!(*limit > 0.0)) throw Error("optimizer", "the norm to clip at must be above 0");
    factor = builder.apply(kGlobalNormFactor, gradients, {{"limit", *limit}})[0];
  }
  for (std::size_t i = 0; i < parameters.size(); ++i)
    update_({parameters[i], gradients[i], rate, batch_info, factor, apply_if});
}

void Sgd::update(const UpdateInputs& in) const {
  refuse_unless(momentum >= 0.0 && momentum < 1.0, "sgd", "the momentum must be in [0, 1)");
  refuse_unless(weight_decay >= 0.0, "sgd", "the weight decay must not be negative");
  refuse_unless(!nesterov || momentum > 0.0, "sgd", "Nesterov's rule needs a momentum");
  auto& builder = in.parameter.builder();
  const auto name = builder.graph().producer(in.parameter.id()).name;
  std::vector<Value> inputs{in.parameter};
  if (momentum != 0.0) inputs.push_back(builder.state(name + "/velocity", in.parameter.shape(), Initializer::zeros()));
  inputs.insert(inputs.end(), {in.gradient, in.learning_rate});
  add_options(inputs, in);
  builder.apply(
      kSgdUpdate, inputs,
      {{"momentum", momentum}, {"nesterov", nesterov}, {"weight_decay", weight_decay}, {"clipped", in.factor.valid()}});
}

void Adam::update(const UpdateInputs& in) const {
  refuse_unless(beta1 >= 0.0 && beta1 < 1.0, "adam", "beta1 must be in [0, 1)");
  refuse_unless(beta2 >= 0.0 && beta2 < 1.0, "adam", "beta2 must be in [0, 1)");
  refuse_unless(epsilon > 0.0, "adam", "epsilon must be above 0");
  refuse_unless(weight_decay >= 0.0, "adam", "the weight decay must not be negative");
  auto& builder = in.parameter.builder();
  const auto name = builder.graph().producer(in.parameter.id()).name;
  const auto m = builder.state(name + "/m", in.parameter.shape(), Initializer::zeros());
  const auto v = builder.state(name + "/v", in.parameter.shape(), Initializer::zeros());
  std::vector<Value> inputs{in.parameter, m, v, in.gradient, in.learning_rate, in.batch_info};
  add_options(inputs, in);
  builder.apply(kAdamUpdate, inputs,
                {{"beta1", beta1},
                 {"beta2", beta2},
                 {"epsilon", epsilon},
                 {"weight_decay", weight_decay},
                 {"clipped", in.factor.valid()}});
}

}  // namespace troupe
