#include "troupe/ops/library/activation.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/ops/library/gather.hpp"
#include "troupe/ops/library/matmul.hpp"
#include "troupe/ops/library/slice.hpp"
#include "troupe/ops/nn/normalization.hpp"
#include "troupe/strategies/central_storage.hpp"
#include "troupe/strategies/local_sgd.hpp"
#include "troupe/strategies/mirrored.hpp"
#include "troupe/strategies/one_device.hpp"
#include "troupe/strategies/parameter_server.hpp"
#include "troupe/tests/strategies/training/random_training.hpp"

namespace troupe::testing {

namespace {

/// Layers that take the parameters of a RandomTraining.
class LayersOfTraining {
 public:
  LayersOfTraining(const RandomTraining& training, GraphBuilder& builder) : training_(training), builder_(builder) {}

  Value parameter(const std::string& name) const {
    for (const auto& parameter : training_.parameters) {
      if (parameter.name != name) continue;
      const Shape shape(parameter.shape);
      return parameter.row_sparse ? builder_.row_sparse_parameter(name, shape, Initializer::zeros())
                                  : builder_.parameter(name, shape, Initializer::zeros());
    }
    return {};
  }

  Value product(Value x, const std::string& weights, const std::string& bias) const {
    const auto w = parameter(weights), b = parameter(bias);
    return b.valid() ? linear(x, w, b) : matmul(x, w);
  }

  Value normalized(Value x) const {
    GraphBuilder::Scope scope(builder_, "norm");
    switch (training_.model.norm) {
      case NormKind::none:
        return x;
      case NormKind::layer:
        return LayerNorm{}(x);
      case NormKind::rms:
        return RmsNorm{}(x);
      case NormKind::batch:
        return BatchNorm{}(x);
    }
    return x;
  }

  Value activated(Value x) const {
    switch (training_.model.activation) {
      case ActivationKind::none:
        return x;
      case ActivationKind::tanh:
        return tanh(x);
      case ActivationKind::sigmoid:
        return sigmoid(x);
      case ActivationKind::relu:
        return relu(x);
      case ActivationKind::gelu:
        return gelu(x);
      case ActivationKind::gelu_tanh:
        return gelu_tanh(x);
      case ActivationKind::silu:
        return silu(x);
      case ActivationKind::softplus:
        return softplus(x);
    }
    return x;
  }

 private:
  const RandomTraining& training_;
  GraphBuilder& builder_;
};

Schedule schedule_of(const RuleChoice& choice) {
  auto schedule = Schedule::constant(choice.lr);
  if (choice.rate == RateKind::step_decay) schedule = Schedule::step_decay(choice.lr, 2, 0.5);
  if (choice.rate == RateKind::cosine) schedule = Schedule::cosine(choice.lr, 5, choice.lr / 4.0);
  if (choice.rate == RateKind::table) {
    std::vector<float> rates;
    for (const auto rate : rate_table()) rates.push_back(static_cast<float>(rate * choice.lr));
    schedule = Schedule::from_table(std::move(rates));
  }
  return choice.warm_up > 0 ? schedule.with_warm_up(choice.warm_up) : schedule;
}

Optimizer rule_of(const RuleChoice& choice) {
  const auto common = [&](auto rule) {
    rule.lr = schedule_of(choice);
    rule.weight_decay = choice.weight_decay;
    rule.clip_value = choice.clip_value;
    rule.clip_norm = choice.clip_norm;
    return rule;
  };
  switch (choice.kind) {
    case RuleKind::sgd: {
      auto sgd = common(Sgd{});
      sgd.momentum = choice.momentum;
      sgd.nesterov = choice.nesterov;
      return sgd;
    }
    case RuleKind::adam:
      return common(Adam{});
    case RuleKind::adamw:
      return common(AdamW{});
    case RuleKind::lamb:
      return common(Lamb{});
    case RuleKind::rms_prop:
      return common(RmsProp{});
    case RuleKind::adagrad:
      return common(Adagrad{});
  }
  return Sgd{};
}

Loss loss_without_weights(const LossChoice& choice) {
  switch (choice.kind) {
    case LossKind::squared:
      return MeanSquaredError{.output = "y", .target = "target"};
    case LossKind::absolute:
      return MeanAbsoluteError{.output = "y", .target = "target"};
    case LossKind::huber:
      return Huber{.output = "y", .target = "target", .delta = 0.5};
    case LossKind::binary:
      return BinaryCrossEntropy{.logits = "y", .target = "target"};
    case LossKind::soft:
      return SoftmaxCrossEntropy{.logits = "y", .labels = "probabilities", .smoothing = choice.smoothing, .soft = true};
    case LossKind::softmax:
      break;
  }
  SoftmaxCrossEntropy loss{.logits = "y", .labels = "label", .smoothing = choice.smoothing};
  if (choice.ignored) loss.ignored = RandomTraining::kIgnoredLabel;
  if (choice.class_weights) loss.class_weights = class_weights();
  if (choice.over_rows) loss.mean = MeanOver::rows;
  return loss;
}

Tensor floats_of(std::int64_t count, std::int64_t columns, const std::vector<float>& elements) {
  return Tensor::from<float>(Shape{count, columns}, elements);
}

}  // namespace

std::vector<float> class_weights() {
  return {1.0F, 2.5F, 0.5F};
}

std::vector<double> rate_table() {
  return {1.0, 0.5, 0.75, 0.25};
}

Model model_of(const RandomTraining& training) {
  return [training](const Inputs& in) -> Outputs {
    const LayersOfTraining layers(training, in.builder());
    auto x = in["x"];
    if (training.model.noise && in.builder().training()) x = x + in["noise"];
    const auto row_inputs = x;
    if (training.model.table) x = concat({x, gather(layers.parameter("table"), in["word"])}, 1);
    x = layers.activated(layers.normalized(layers.product(x, "w1", "b1")));
    if (training.model.scale) x = mul(x, layers.parameter("scale"));
    Outputs outputs{{"y", layers.product(x, "w2", "b2")}};
    if (training.model.unread) outputs.add("unread", mul(row_inputs, layers.parameter("unread")));
    return outputs;
  };
}

Loss loss_of(const RandomTraining& training) {
  const auto& choice = training.loss;
  auto loss = loss_without_weights(choice);
  if (choice.by_row) loss = WeightedByRow{loss, "weight", choice.over_rows ? MeanOver::rows : MeanOver::weights};
  if (choice.sum) loss = SumOfLosses{{{1.0, loss}, {0.5, MeanSquaredError{.output = "y", .target = "target"}}}};
  return loss;
}

Optimizer optimizer_of(const RandomTraining& training) {
  const auto& choice = training.optimizer;
  auto optimizer = rule_of(choice.rule);
  if (!choice.frozen.empty())
    optimizer = optimizer.frozen([frozen = choice.frozen](const std::string& name) { return name == frozen; });
  if (choice.of_group)
    optimizer = optimizer.with_group([](const std::string& name) { return name == "w2" || name == "b2"; },
                                     rule_of(*choice.of_group));
  if (choice.averaging) optimizer = optimizer.averaging(*choice.averaging);
  return optimizer.accumulating(choice.accumulated);
}

Dataset data_of(const RandomTraining& training) {
  const auto& rows = training.rows;
  return Dataset::from_arrays({{"x", floats_of(rows.count, RandomTraining::kInputs, rows.x)},
                               {"noise", floats_of(rows.count, RandomTraining::kInputs, rows.noise)},
                               {"target", floats_of(rows.count, RandomTraining::kOutputs, rows.target)},
                               {"probabilities", floats_of(rows.count, RandomTraining::kOutputs, rows.probabilities)},
                               {"weight", Tensor::from<float>({rows.count}, rows.weight)},
                               {"word", Tensor::from<std::int32_t>({rows.count}, rows.word)},
                               {"label", Tensor::from<std::int32_t>({rows.count}, rows.label)}})
      .batch(rows.batch);
}

std::unique_ptr<Strategy> strategy_of(const StrategyChoice& choice) {
  std::vector<Place> places, servers;
  for (int i = 0; i < choice.replicas; ++i)
    places.push_back({i * choice.parts / choice.replicas, {DeviceType::cpu, i}});
  for (int i = 0; i < choice.servers; ++i) servers.push_back({i * choice.parts / choice.servers, {}});
  ServerOptions options;
  if (choice.shards > 1) options.sharding = {fixed_shards(choice.shards), Placement::round_robin};
  const auto rule = ConsistencyRule::synchronous(choice.replicas);
  switch (choice.kind) {
    case StrategyKind::one_device:
      return std::make_unique<OneDevice>();
    case StrategyKind::mirrored:
      return std::make_unique<Mirrored>(places, MirroredOptions{.first_bucket_bytes = 32, .bucket_bytes = 64});
    case StrategyKind::servers:
      return std::make_unique<ParameterServer>(places, servers, rule, options);
    case StrategyKind::central_storage:
      return std::make_unique<CentralStorage>(places, servers.front());
    case StrategyKind::local_sgd:
      return std::make_unique<LocalSgd>(places, servers, LocalSgdOptions{.local_steps = 1}, options);
  }
  return nullptr;
}

}  // namespace troupe::testing
