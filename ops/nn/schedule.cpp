#include "troupe/ops/nn/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/library/cast.hpp"
#include "troupe/ops/library/elementwise.hpp"

namespace troupe {

namespace {

/// The shape rule of learning_rate and step_number. Input: the batch info. Output: a scalar of `dtype`.
template <DType dtype>
std::vector<TensorInfo> infer_from_batch_info(const OpInputs& inputs) {
  inputs.expect_count(1, 1);
  inputs.expect_batch_info(0);
  return {{Shape{}, dtype}};
}

/// The shape rule of table_rate. Inputs: a table of rates, float32 [N] with N > 0, and the batch info. Output: the rate
/// of the step, a float32 scalar.
std::vector<TensorInfo> infer_table_rate(const OpInputs& inputs) {
  inputs.expect_count(2, 2);
  inputs.expect_dtype(0, DType::float32);
  inputs.expect_rank(0, 1);
  if (inputs.shape(0)[0] < 1) inputs.refuse("the table is empty");
  inputs.expect_batch_info(1);
  return {{Shape{}, DType::float32}};
}

}  // namespace

const OpDef kLearningRate{.name = "learning_rate", .infer = infer_from_batch_info<DType::float32>};
const OpDef kStepNumber{.name = "step_number", .infer = infer_from_batch_info<DType::int64>};
const OpDef kTableRate{.name = "table_rate", .infer = infer_table_rate};

Schedule Schedule::step_decay(double rate, std::int64_t period, double decay) {
  Schedule schedule(rate);
  schedule.kind = Kind::step;
  schedule.period = period;
  schedule.decay = decay;
  return schedule;
}

Schedule Schedule::cosine(double rate, std::int64_t steps, double floor) {
  Schedule schedule(rate);
  schedule.kind = Kind::cosine;
  schedule.period = steps;
  schedule.floor = floor;
  return schedule;
}

Schedule Schedule::with_warm_up(std::int64_t steps) const {
  auto schedule = *this;
  schedule.warm_up = steps;
  return schedule;
}

Schedule Schedule::from_table(std::vector<float> rates) {
  if (rates.empty()) throw Error("learning_rate", "the table of rates is empty");
  for (std::size_t step = 0; step < rates.size(); ++step)
    if (!(rates[step] >= 0.0F) || !std::isfinite(rates[step]))
      throw Error("learning_rate", "the rate of step " + std::to_string(step) + " must be 0 or more, not " +
                                       std::to_string(rates[step]));
  Schedule schedule(rates[0]);
  schedule.table_ = std::make_shared<const std::vector<float>>(std::move(rates));
  return schedule;
}

Schedule Schedule::from_function(const std::function<double(std::int64_t step)>& rate, std::int64_t steps) {
  constexpr std::int64_t kMostRates = std::int64_t{1} << 28;
  if (steps > kMostRates)
    throw Error("learning_rate", "a table has at most " + std::to_string(kMostRates) + " rates, not " +
                                     std::to_string(steps) + "; from_ops() makes a schedule without a table");
  std::vector<float> rates;
  for (std::int64_t step = 0; step < steps; ++step) rates.push_back(static_cast<float>(rate(step)));
  return from_table(std::move(rates));
}

Schedule Schedule::from_ops(std::function<Value(Value step)> rate) {
  Schedule schedule(0.0);
  schedule.ops_ = std::move(rate);
  return schedule;
}

double Schedule::at(std::int64_t step) const {
  if (ops_) throw Error("learning_rate", "ops compute the rate, which is known on the device only");
  double rate = base;
  if (table_) rate = (*table_)[static_cast<std::size_t>(std::min(step, static_cast<std::int64_t>(table_->size()) - 1))];
  if (kind == Kind::step) rate = base * std::pow(decay, static_cast<double>(step / period));
  if (kind == Kind::cosine) {
    const auto part = static_cast<double>(std::min(step, period)) / static_cast<double>(period);
    rate = floor + (base - floor) * 0.5 * (1.0 + std::cos(std::numbers::pi * part));
  }
  if (step < warm_up) rate *= static_cast<double>(step + 1) / static_cast<double>(warm_up);
  return rate;
}

/// Returns rate * min((step + 1) / warm_up, 1); returns `rate` itself if `warm_up` is 0.
Value Schedule::warm_up_of(Value rate, Value batch_info) const {
  return warm_up == 0 ? rate : mul(rate, constant(1.0).with_warm_up(warm_up).apply(batch_info));
}

Value Schedule::apply(Value batch_info) const {
  auto& builder = batch_info.builder();
  if (table_) {
    const auto table = builder.constant(Tensor::from<float>({static_cast<std::int64_t>(table_->size())}, *table_));
    return warm_up_of(builder.apply_one(kTableRate, {table, batch_info}), batch_info);
  }
  if (ops_) {
    const auto rate = ops_(cast(builder.apply_one(kStepNumber, {batch_info}), DType::float32));
    if (!rate.valid() || !(rate.info() == TensorInfo{Shape{}, DType::float32}))
      throw Error("learning_rate", "the ops must return a float32 scalar");
    return warm_up_of(rate, batch_info);
  }
  if (!(base >= 0.0) || !std::isfinite(base))
    throw Error("learning_rate", "the rate must be 0 or more, not " + std::to_string(base));
  if (period < 1) throw Error("learning_rate", "the period must be at least one step");
  if (!(decay >= 0.0) || !std::isfinite(decay)) throw Error("learning_rate", "the decay must be 0 or more");
  if (!(floor >= 0.0) || !std::isfinite(floor)) throw Error("learning_rate", "the floor must be 0 or more");
  if (warm_up < 0) throw Error("learning_rate", "the warm-up must not be negative");
  return builder.apply_one(kLearningRate, {batch_info},
                           {{"kind", static_cast<std::int64_t>(kind)},
                            {"base", base},
                            {"period", period},
                            {"decay", decay},
                            {"floor", floor},
                            {"warm_up", warm_up}});
}

Schedule Schedule::from(const Attributes& attributes) {
  Schedule schedule(attributes.number("base"));
  schedule.kind = static_cast<Kind>(attributes.integer("kind"));
  schedule.period = attributes.integer("period");
  schedule.decay = attributes.number("decay");
  schedule.floor = attributes.number("floor");
  schedule.warm_up = attributes.integer("warm_up");
  return schedule;
}

}  // namespace troupe
