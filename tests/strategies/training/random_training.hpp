#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "troupe/ops/data/dataset.hpp"
#include "troupe/ops/nn/loss.hpp"
#include "troupe/ops/nn/optimizer.hpp"
#include "troupe/strategies/training/trainer.hpp"

namespace troupe::testing {

enum class RuleKind { sgd, adam, adamw, lamb, rms_prop, adagrad };
enum class RateKind { constant, step_decay, cosine, table };
enum class LossKind { squared, absolute, huber, binary, softmax, soft };
enum class NormKind { none, layer, rms, batch };
enum class ActivationKind { none, tanh, sigmoid, relu, gelu, gelu_tanh, silu, softplus };
enum class StrategyKind { one_device, mirrored, servers, central_storage, local_sgd };

struct RuleChoice {
  RuleKind kind = RuleKind::sgd;
  RateKind rate = RateKind::constant;
  double lr = 0.05;
  std::int64_t warm_up = 0;
  double momentum = 0.0;
  bool nesterov = false;
  double weight_decay = 0.0;
  std::optional<double> clip_value = {}, clip_norm = {};
};

/// y = act(norm([x, table[word]] w1 + b1)) * scale times w2 + b2, with parts left out. In training the field `noise` is
/// added to x.
struct ModelChoice {
  bool table = false, row_sparse = false, bias = false, scale = false, noise = false;
  /// A parameter that an output reads, but not the loss.
  bool unread = false;
  NormKind norm = NormKind::none;
  ActivationKind activation = ActivationKind::none;
};

struct LossChoice {
  LossKind kind = LossKind::squared;
  double smoothing = 0.0;
  bool ignored = false, class_weights = false, by_row = false, over_rows = false;
  /// Half of the mean squared error of another field is added.
  bool sum = false;
};

struct OptimizerChoice {
  RuleChoice rule;
  /// The rule of `w2` and `b2`.
  std::optional<RuleChoice> of_group = {};
  /// The name of a frozen parameter; none if it is empty.
  std::string frozen = {};
  std::int64_t accumulated = 1;
  std::optional<double> averaging = {};
};

struct StrategyChoice {
  StrategyKind kind = StrategyKind::one_device;
  int replicas = 1, servers = 1;
  /// Parts, as of so many processes.
  int parts = 1;
  /// Shards of a parameter on servers.
  std::int64_t shards = 1;
};

/// The rows of a training. Row r has x[3 r] to x[3 r + 2] and so on.
struct TrainingRows {
  std::int64_t count = 0, batch = 1;
  std::vector<float> x, noise, target, probabilities, weight;
  std::vector<std::int32_t> word, label;
};

struct NamedParameter {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> start;
  bool row_sparse = false;
};

/// A small training, drawn from a seed: the library runs it, and ReferenceTraining computes it.
struct RandomTraining {
  static constexpr std::int64_t kInputs = 3, kWords = 5, kUnits = 2, kHidden = 3, kOutputs = 3;
  static constexpr std::int32_t kIgnoredLabel = -100;

  ModelChoice model;
  LossChoice loss;
  OptimizerChoice optimizer;
  TrainingRows rows;
  /// The strategies of the steps before and from `resumed_at` on.
  StrategyChoice first, second;
  Grain grain = Grain::fused;
  std::int64_t steps = 0, resumed_at = 0;
  /// True: the second trainer has a copy of the values of the store. False: it has the store.
  bool copied_store = false;
  /// True: a fit makes all steps and pauses after each. False: a fit for every step.
  bool pauses = false;
  std::vector<NamedParameter> parameters;

  std::int64_t steps_of_epoch() const { return (rows.count + rows.batch - 1) / rows.batch; }
  bool trains(const std::string& name) const { return name != "unread" && name != optimizer.frozen; }
  bool in_group(const std::string& name) const { return optimizer.of_group && (name == "w2" || name == "b2"); }
  std::string text() const;
};

/// Draws a training; the values of its rows and parameters depend on `values_seed`, too.
RandomTraining draw_training(std::uint64_t seed, std::uint64_t values_seed);

/// The class weights of LossChoice::class_weights.
std::vector<float> class_weights();
/// The table of RateKind::table, times the rate.
std::vector<double> rate_table();

Model model_of(const RandomTraining& training);
Loss loss_of(const RandomTraining& training);
Optimizer optimizer_of(const RandomTraining& training);
Dataset data_of(const RandomTraining& training);
std::unique_ptr<Strategy> strategy_of(const StrategyChoice& choice);

}  // namespace troupe::testing
