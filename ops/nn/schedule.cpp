#include "troupe/ops/nn/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "troupe/ops/core/error.hpp"
#include "troupe/ops/graph/op_declarations.hpp"

namespace troupe {

namespace {

std::vector<TensorInfo> infer_learning_rate(const OpInputs& inputs) {
  inputs.expect_count(1, 1);
  inputs.expect_batch_info(0);
  return {{Shape{}, DType::float32}};
}

}  // namespace

const OpDef kLearningRate{.name = "learning_rate", .infer = infer_learning_rate};

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

double Schedule::at(std::int64_t step) const {
  double rate = base;
  if (kind == Kind::step) rate = base * std::pow(decay, static_cast<double>(step / period));
  if (kind == Kind::cosine) {
    const auto part = static_cast<double>(std::min(step, period)) / static_cast<double>(period);
    rate = floor + (base - floor) * 0.5 * (1.0 + std::cos(std::numbers::pi * part));
  }
  if (step < warm_up) rate *= static_cast<double>(step + 1) / static_cast<double>(warm_up);
  return rate;
}

Value Schedule::apply(Value batch_info) const {
  if (!(base >= 0.0) || !std::isfinite(base))
    throw Error("learning_rate", "the rate must be 0 or more, not " + std::to_string(base));
  if (period < 1) throw Error("learning_rate", "the period must be at least one step");
  if (!(decay >= 0.0) || !std::isfinite(decay)) throw Error("learning_rate", "the decay must be 0 or more");
  if (!(floor >= 0.0) || !std::isfinite(floor)) throw Error("learning_rate", "the floor must be 0 or more");
  if (warm_up < 0) throw Error("learning_rate", "the warm-up must not be negative");
  return batch_info.builder().apply_one(kLearningRate, {batch_info},
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
