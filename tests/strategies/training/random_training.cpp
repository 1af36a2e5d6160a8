#include "troupe/tests/strategies/training/random_training.hpp"

#include <limits>
#include <random>
#include <sstream>

namespace troupe::testing {

namespace {

/// Draws from a seed, the same on every machine.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(bound));
  }
  std::int64_t between(std::int64_t least, std::int64_t most) { return least + below(most - least + 1); }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  template <class Enum>
  Enum kind(std::int64_t kinds) {
    return static_cast<Enum>(below(kinds));
  }
  /// A multiple of 2^-20 in [least, most], which float32 holds exactly. Gradients of coarser numbers may cancel out
  /// without rounding errors.
  float number(int least, int most) {
    constexpr std::int64_t kParts = std::int64_t{1} << 20;
    return static_cast<float>(between(kParts * least, kParts * most)) / static_cast<float>(kParts);
  }
  /// A number whose magnitude is in [0.25, 1.25].
  float weight() {
    const auto size = 0.25F + number(0, 1);
    return one_in(2) ? size : -size;
  }

 private:
  std::mt19937_64 random_;
};

RuleChoice draw_rule(Draw& draw) {
  RuleChoice rule{.kind = draw.kind<RuleKind>(6), .rate = draw.kind<RateKind>(4)};
  rule.lr = 0.03125 * static_cast<double>(draw.between(1, 4));
  // The first steps of RMSProp are 1 / sqrt(1 - decay) = 10 times the rate.
  if (rule.kind == RuleKind::rms_prop) rule.lr /= 8.0;
  rule.warm_up = draw.one_in(3) ? 3 : 0;
  if (rule.kind == RuleKind::sgd && draw.one_in(2)) {
    rule.momentum = 0.75;
    rule.nesterov = draw.one_in(2);
  }
  if (draw.one_in(2)) rule.weight_decay = 0.0625;
  if (draw.one_in(5)) rule.clip_value = 0.25;
  if (draw.one_in(5)) rule.clip_norm = 0.5;
  return rule;
}

ModelChoice draw_model(Draw& draw) {
  ModelChoice model{.table = draw.one_in(2)};
  model.row_sparse = model.table && draw.one_in(2);
  model.bias = draw.one_in(2);
  model.scale = draw.one_in(2);
  model.noise = draw.one_in(3);
  model.unread = draw.one_in(3);
  model.norm = draw.kind<NormKind>(4);
  model.activation = draw.kind<ActivationKind>(8);
  return model;
}

LossChoice draw_loss(Draw& draw) {
  LossChoice loss{.kind = draw.one_in(3) ? LossKind::softmax : draw.kind<LossKind>(6)};
  const bool labels = loss.kind == LossKind::softmax;
  loss.ignored = labels && draw.one_in(2);
  loss.class_weights = labels && draw.one_in(2);
  if (loss.kind == LossKind::soft || (labels && !loss.class_weights)) loss.smoothing = draw.one_in(2) ? 0.125 : 0.0;
  loss.by_row = draw.one_in(3);
  loss.over_rows = draw.one_in(2);
  loss.sum = draw.one_in(4);
  return loss;
}

StrategyChoice draw_strategy(Draw& draw) {
  StrategyChoice choice{.kind = draw.kind<StrategyKind>(5)};
  if (choice.kind == StrategyKind::one_device) return choice;
  choice.replicas = static_cast<int>(draw.between(1, 3));
  if (choice.kind == StrategyKind::servers || choice.kind == StrategyKind::local_sgd) {
    choice.servers = static_cast<int>(draw.between(1, 2));
    choice.shards = draw.between(1, 3);
  }
  if (choice.replicas > 1 && draw.one_in(3)) choice.parts = 2;
  return choice;
}

bool on_servers(const StrategyChoice& choice) {
  return choice.kind == StrategyKind::servers || choice.kind == StrategyKind::central_storage ||
         choice.kind == StrategyKind::local_sgd;
}

bool divides_by_weights(const LossChoice& loss) {
  return !loss.over_rows && (loss.ignored || loss.class_weights || loss.by_row);
}

/// Changes the training until the library accepts its combination of options.
void make_acceptable(RandomTraining& training) {
  auto& model = training.model;
  auto& loss = training.loss;
  auto& optimizer = training.optimizer;
  const bool servers = on_servers(training.first) || on_servers(training.second);
  const bool local = training.first.kind == StrategyKind::local_sgd || training.second.kind == StrategyKind::local_sgd;
  const bool workers = training.first.replicas > 1 || training.second.replicas > 1;
  const bool shards =
      training.first.servers * training.first.shards > 1 || training.second.servers * training.second.shards > 1;
  // Local copies have optimizer state of their own, which other strategies do not continue.
  if (local && training.first.kind != StrategyKind::local_sgd) training.first = training.second;
  if (local) training.second = training.first;
  if (local) optimizer.averaging = {};
  if (model.norm == NormKind::batch && servers) model.norm = NormKind::layer;
  if (model.row_sparse && servers) {
    optimizer.accumulated = 1;
    optimizer.averaging = {};
    optimizer.rule.clip_norm = {};
  }
  std::vector<RuleChoice*> rules{&optimizer.rule};
  if (optimizer.of_group) rules.push_back(&*optimizer.of_group);
  for (auto* rule : rules) {
    if (rule->kind == RuleKind::lamb && (model.row_sparse || shards)) rule->kind = RuleKind::adam;
    if (shards || (servers && model.row_sparse)) rule->clip_norm = {};
  }
  const bool accumulates = optimizer.accumulated > 1;
  const auto worker_alone = [](const StrategyChoice& choice) { return on_servers(choice) && choice.replicas == 1; };
  if (servers && workers && model.row_sparse) loss.over_rows = true;
  if (accumulates && (local || worker_alone(training.first) || worker_alone(training.second))) loss.over_rows = true;
  if (divides_by_weights(loss) && (accumulates || (servers && workers))) loss.sum = false;
}

void draw_rows(RandomTraining& training, Draw& draw) {
  auto& rows = training.rows;
  const bool of_batch = training.model.norm == NormKind::batch;
  rows.batch = draw.between(of_batch ? 5 : 1, 8);
  rows.count = of_batch ? 3 * rows.batch : draw.between(rows.batch, 4 * rows.batch);
}

void draw_values(RandomTraining& training, Draw& draw) {
  auto& rows = training.rows;
  for (std::int64_t row = 0; row < rows.count; ++row) {
    float sum = 0.0F;
    for (std::int64_t i = 0; i < RandomTraining::kInputs; ++i) {
      rows.x.push_back(draw.weight());
      rows.noise.push_back(draw.number(-1, 1) / 4.0F);
    }
    for (std::int64_t i = 0; i < RandomTraining::kOutputs; ++i) {
      rows.target.push_back(draw.number(0, 1));
      rows.probabilities.push_back(0.0625F + draw.number(0, 1));
      sum += rows.probabilities.back();
    }
    for (std::int64_t i = 0; i < RandomTraining::kOutputs; ++i) *(rows.probabilities.end() - 1 - i) /= sum;
    rows.weight.push_back(0.25F + draw.number(0, 2));
    rows.word.push_back(static_cast<std::int32_t>(draw.below(RandomTraining::kWords)));
    const bool ignored = training.loss.ignored && draw.one_in(3);
    rows.label.push_back(ignored ? RandomTraining::kIgnoredLabel
                                 : static_cast<std::int32_t>(draw.below(RandomTraining::kOutputs)));
    // A row that makes the loss a NaN.
    if (!ignored && draw.one_in(4 * rows.batch)) rows.x.back() = std::numeric_limits<float>::quiet_NaN();
  }
}

void add_parameter(RandomTraining& training, Draw& draw, const std::string& name, std::vector<std::int64_t> shape) {
  std::int64_t elements = 1;
  for (const auto size : shape) elements *= size;
  NamedParameter parameter{name, std::move(shape), {}, name == "table" && training.model.row_sparse};
  for (std::int64_t i = 0; i < elements; ++i) parameter.start.push_back(draw.weight());
  training.parameters.push_back(std::move(parameter));
}

void draw_parameters(RandomTraining& training, Draw& draw) {
  constexpr auto kHidden = RandomTraining::kHidden, kOutputs = RandomTraining::kOutputs;
  const auto& model = training.model;
  const auto add = [&](const std::string& name, std::vector<std::int64_t> shape) {
    add_parameter(training, draw, name, std::move(shape));
  };
  if (model.table) add("table", {RandomTraining::kWords, RandomTraining::kUnits});
  add("w1", {RandomTraining::kInputs + (model.table ? RandomTraining::kUnits : 0), kHidden});
  // A batch norm removes what a bias adds, so that the gradient of the bias is 0 up to rounding.
  if (model.bias && model.norm != NormKind::batch) add("b1", {kHidden});
  if (model.norm != NormKind::none) add("norm.scale", {kHidden});
  if (model.norm == NormKind::layer || model.norm == NormKind::batch) add("norm.shift", {kHidden});
  if (model.scale) add("scale", {kHidden});
  add("w2", {kHidden, kOutputs});
  if (model.bias) add("b2", {kOutputs});
  if (model.unread) add("unread", {RandomTraining::kInputs});
}

}  // namespace

RandomTraining draw_training(std::uint64_t seed, std::uint64_t values_seed) {
  Draw draw(1'000'003 * seed + 17);
  RandomTraining training;
  training.model = draw_model(draw);
  training.loss = draw_loss(draw);
  training.optimizer.rule = draw_rule(draw);
  if (draw.one_in(4)) training.optimizer.of_group = draw_rule(draw);
  if (draw.one_in(3)) training.optimizer.accumulated = draw.between(2, 3);
  if (draw.one_in(4)) training.optimizer.averaging = 0.75;
  training.first = draw_strategy(draw);
  training.second = draw.one_in(2) ? draw_strategy(draw) : training.first;
  training.grain = draw.kind<Grain>(3);
  training.copied_store = draw.one_in(2);
  training.pauses = draw.one_in(2);
  make_acceptable(training);
  draw_rows(training, draw);
  training.steps = draw.between(4, 9);
  training.resumed_at = draw.between(0, training.steps);
  const bool freezes = draw.one_in(3);
  Draw values(7'919 * seed + 104'729 * (values_seed + 1));
  draw_parameters(training, values);
  // The group of w2 must not be empty, so w2 is not frozen.
  const auto frozen = training.parameters.at(static_cast<std::size_t>(draw.below(2))).name;
  if (freezes && frozen != "w2") training.optimizer.frozen = frozen;
  draw_values(training, values);
  return training;
}

std::string RandomTraining::text() const {
  const auto rule = [](const RuleChoice& choice) {
    std::ostringstream out;
    out << "rule " << static_cast<int>(choice.kind) << " rate " << static_cast<int>(choice.rate) << " lr " << choice.lr
        << " warm-up " << choice.warm_up << " momentum " << choice.momentum << (choice.nesterov ? " nesterov" : "")
        << " decay " << choice.weight_decay << " clip " << choice.clip_value.value_or(0.0) << ", "
        << choice.clip_norm.value_or(0.0);
    return out.str();
  };
  const auto strategy = [](const StrategyChoice& choice) {
    std::ostringstream out;
    out << static_cast<int>(choice.kind) << " of " << choice.replicas << " on " << choice.servers << " servers, "
        << choice.shards << " shards, " << choice.parts << " parts";
    return out.str();
  };
  std::ostringstream out;
  out << "model: table " << model.table << model.row_sparse << " bias " << model.bias << " scale " << model.scale
      << " noise " << model.noise << " norm " << static_cast<int>(model.norm) << " activation "
      << static_cast<int>(model.activation) << "\nloss: " << static_cast<int>(loss.kind) << " smoothing "
      << loss.smoothing << " ignored " << loss.ignored << " class weights " << loss.class_weights << " by row "
      << loss.by_row << " over rows " << loss.over_rows << " sum " << loss.sum
      << "\noptimizer: " << rule(optimizer.rule);
  if (optimizer.of_group) out << "; of w2 and b2: " << rule(*optimizer.of_group);
  out << "; frozen '" << optimizer.frozen << "', accumulating " << optimizer.accumulated << ", averaging "
      << optimizer.averaging.value_or(0.0) << "\nstrategy: " << strategy(first) << "; from step " << resumed_at << " "
      << strategy(second) << (copied_store ? ", store copied" : "") << (pauses ? ", pauses" : "") << ", grain "
      << to_string(grain) << "\nrows: " << rows.count << " in batches of " << rows.batch << ", " << steps << " steps";
  return out.str();
}

}  // namespace troupe::testing
