#include <algorithm>
#include <cmath>
#include <optional>

#include "troupe/ops/graph/op_declarations.hpp"
#include "troupe/ops/nn/schedule.hpp"
#include "troupe/tests/ops/cases/op_cases.hpp"

namespace troupe::ops_test {

namespace {

const Shape kParameter{7, 5};

CaseInput stored(Draw draw = Draw::uniform) {
  return {kParameter, draw, false, 0, true};
}

CaseInput fixed(const Shape& shape, Draw draw = Draw::uniform) {
  return {shape, draw, false};
}

/// The number of updates that a parameter has had, a stored scalar.
CaseInput updates(std::int64_t number) {
  return {Shape{}, Draw::constant, false, number, true};
}

std::function<Values(const Values&)> apply(const OpDef& op, const Attributes& attributes) {
  return [&op, attributes](const Values& x) { return x[0].builder().apply(op, x, attributes); };
}

OpCase sgd_case(const std::string& name, const reference::SgdOptions& options, bool clipped) {
  std::vector<CaseInput> inputs{stored()};
  if (options.momentum != 0.0) inputs.push_back(stored());
  inputs.insert(inputs.end(), {fixed(kParameter), fixed({}, Draw::positive)});
  if (clipped) inputs.push_back(fixed({}, Draw::positive));
  return {"sgd_update " + name, inputs,
          apply(kSgdUpdate, {{"momentum", options.momentum},
                             {"nesterov", options.nesterov},
                             {"weight_decay", options.weight_decay},
                             {"clipped", clipped}}),
          reference::sgd_update(options), 1e-6};
}

// A large v makes the correction of its bias visible.
OpCase adam_case(const std::string& name, const reference::AdamOptions& options, std::int64_t step, bool clipped) {
  std::vector<CaseInput> inputs{stored(),      stored(),          stored(Draw::positive),
                                updates(step), fixed(kParameter), fixed({}, Draw::positive)};
  if (clipped) inputs.push_back(fixed({}, Draw::positive));
  return {"adam_update " + name + " in step " + std::to_string(step), inputs,
          apply(kAdamUpdate, {{"beta1", options.beta1},
                              {"beta2", options.beta2},
                              {"epsilon", options.epsilon},
                              {"weight_decay", options.weight_decay},
                              {"clipped", clipped}}),
          reference::adam_update(options), 2e-6};
}

OpCase adamw_case(std::int64_t step) {
  auto result = adam_case("decoupled", {0.9, 0.99, 1e-3, 0.1, true}, step, false);
  result.build = apply(kAdamUpdate, {{"beta1", 0.9},
                                     {"beta2", 0.99},
                                     {"epsilon", 1e-3},
                                     {"weight_decay", 0.1},
                                     {"decoupled", true},
                                     {"clipped", false}});
  return result;
}

OpCase lamb_case(const std::string& name, Draw parameter, std::int64_t step, bool clipped) {
  const reference::AdamOptions options{0.8, 0.99, 1e-3, 0.1};
  auto result = adam_case("lamb " + name, options, step, clipped);
  result.inputs[0].draw = parameter;
  result.build = apply(kLambUpdate, {{"beta1", options.beta1},
                                     {"beta2", options.beta2},
                                     {"epsilon", options.epsilon},
                                     {"weight_decay", options.weight_decay},
                                     {"clipped", clipped}});
  result.reference = reference::lamb_update(options);
  result.tolerance = 1e-5;
  return result;
}

OpCase squares_case(double keep, double add, bool clipped) {
  std::vector<CaseInput> inputs{stored(), stored(Draw::positive), fixed(kParameter), fixed({}, Draw::positive)};
  if (clipped) inputs.push_back(fixed({}, Draw::positive));
  return {"squares_update keeping " + std::to_string(keep) + (clipped ? ", clipped" : ""), inputs,
          apply(kSquaresUpdate,
                {{"keep", keep}, {"add", add}, {"epsilon", 1e-3}, {"weight_decay", 0.1}, {"clipped", clipped}}),
          reference::squares_update(keep, add, 1e-3, 0.1), 1e-5};
}

/// A step of accumulated gradients, four to an update, whose sum has steps of the update that ends with step `end`, or
/// of the same update if `end` is not set.
OpCase accumulate_case(std::int64_t step, std::optional<std::int64_t> weight = {},
                       std::optional<std::int64_t> end = {}) {
  Attributes attributes{{"steps", std::int64_t{4}}};
  if (weight) attributes = attributes.with("weighted", true);
  const auto last = step / 4 * 4 + 4;
  auto result = exact_case("accumulate in step " + std::to_string(step) +
                               (weight ? " with weight " + std::to_string(*weight) : "") + (end ? ", another end" : ""),
                           {stored(Draw::eighths),
                            {{}, Draw::constant, false, 24, true},
                            {{}, Draw::constant, false, end.value_or(last), true},
                            fixed(kParameter, Draw::eighths),
                            batch_info(step)},
                           apply(kAccumulate, attributes), [weight, last](const Arrays& in) {
                             auto sum = in[0], rows = in[1], end_of_sum = in[2];
                             const auto step_of_update = static_cast<std::int64_t>(in[4].data[3]) % 4;
                             const auto expected_end = static_cast<double>(last);
                             const auto kept = step_of_update == 0 || in[2].data[0] != expected_end ? 0.0 : 1.0;
                             const auto rows_of_step = in[weight ? 5 : 4].data[weight ? 0 : 1];
                             const auto factor = weight && rows_of_step == 0.0 ? 1.0 : rows_of_step;
                             rows.data[0] = kept * rows.data[0] + rows_of_step;
                             end_of_sum.data[0] = expected_end;
                             for (std::size_t i = 0; i < sum.data.size(); ++i) {
                               sum.data[i] = kept * sum.data[i] + factor * in[3].data[i];
                               if (step_of_update == 3 && rows.data[0] != 0.0) sum.data[i] /= rows.data[0];
                             }
                             return Arrays{sum, rows, end_of_sum};
                           });
  if (weight) result.inputs.push_back({Shape{}, Draw::constant, false, *weight});
  result.tolerance = 1e-6;
  return result;
}

OpCase accumulation_case(std::int64_t step, std::int64_t rows) {
  return exact_case(
      "accumulation in step " + std::to_string(step) + " with rows " + std::to_string(rows),
      {batch_info(step), {Shape{}, Draw::constant, false, rows}},
      [](const Values& x) {
        return x[0].builder().apply(kAccumulation, x, {{"steps", std::int64_t{4}}});
      },
      [](const Arrays& in) {
        auto info = in[0];
        Array last(Sizes{});
        last.data[0] = static_cast<std::int64_t>(info.data[3]) % 4 == 3 && in[1].data[0] != 0.0 ? 1.0 : 0.0;
        info.data[3] = std::floor(info.data[3] / 4.0);
        return Arrays{info, last};
      });
}

OpCase average_case(std::int64_t begun, std::int64_t flag) {
  return exact_case("average that has begun " + std::to_string(begun) + " times with flag " + std::to_string(flag),
                    {stored(Draw::eighths),
                     {Shape{}, Draw::constant, false, begun, true},
                     fixed(kParameter, Draw::eighths),
                     fixed(kParameter, Draw::eighths),
                     {Shape{}, Draw::constant, false, flag}},
                    apply(kAverage, {{"decay", 0.75}}), [](const Arrays& in) {
                      auto average = in[0];
                      auto begun_now = in[1];
                      begun_now.data[0] = 1.0;
                      for (std::size_t i = 0; i < average.data.size(); ++i) {
                        if (in[4].data[0] > 0.0)
                          average.data[i] = 0.75 * in[3].data[i] + 0.25 * in[2].data[i];
                        else if (in[1].data[0] == 0.0)
                          average.data[i] = in[3].data[i];
                      }
                      return Arrays{average, begun_now};
                    });
}

OpCase assign_case() {
  return exact_case("assign", {stored(), fixed(kParameter)}, apply(kAssign, {}),
                    [](const Arrays& in) { return Arrays{in[1]}; });
}

OpCase table_case(std::int64_t step) {
  return exact_case("table_rate in step " + std::to_string(step), {fixed({9}), batch_info(step)}, apply(kTableRate, {}),
                    [](const Arrays& in) {
                      Array rate(Sizes{});
                      rate.data[0] = in[0].data[static_cast<std::size_t>(std::min(in[1].data[3], 8.0))];
                      return Arrays{rate};
                    });
}

OpCase step_number_case() {
  return exact_case("step_number", {batch_info(70)}, apply(kStepNumber, {}), [](const Arrays& in) {
    Array step(Sizes{});
    step.data[0] = in[0].data[3];
    return Arrays{step};
  });
}

/// An update with a flag, which has no effect if the flag is 0.
OpCase with_flag(OpCase update, std::int64_t flag) {
  update.name += " with flag " + std::to_string(flag);
  update.inputs.push_back({Shape{}, Draw::constant, false, flag});
  update.reference.forward = [unguarded = update.reference.forward](Arrays in) {
    const bool applied = in.back().data[0] > 0.0;
    in.pop_back();
    auto out = unguarded(in);
    if (applied) return out;
    in.resize(out.size());
    return in;
  };
  if (flag == 0) update.tolerance = 0.0;
  return update;
}

OpCase factor_case(const std::string& name, std::vector<CaseInput> inputs, double limit) {
  return {"global_norm_factor " + name, std::move(inputs), apply(kGlobalNormFactor, {{"limit", limit}}),
          reference::global_norm_factor(limit), 1e-6};
}

OpCase rate_case(const std::string& name, const Schedule& schedule, std::int64_t step,
                 std::function<double(double)> rate) {
  return {"learning_rate " + name + " in step " + std::to_string(step),
          {batch_info(step)},
          [schedule](const Values& x) { return Values{schedule.apply(x[0])}; },
          reference::learning_rate(std::move(rate)),
          1e-7};
}

}  // namespace

std::vector<OpCase> update_cases() {
  std::vector<OpCase> cases{
      sgd_case("plain", {}, false),
      sgd_case("clipped", {}, true),
      sgd_case("with decay", {.weight_decay = 0.1}, false),
      sgd_case("with momentum", {.momentum = 0.9}, false),
      sgd_case("with Nesterov's momentum", {.momentum = 0.9, .nesterov = true}, false),
      sgd_case("with momentum and decay, clipped", {.momentum = 0.5, .weight_decay = 0.1}, true),
      sgd_case("with all of it", {.momentum = 0.5, .nesterov = true, .weight_decay = 0.1}, true),
      factor_case("below the limit", {fixed({3, 4}), fixed({5})}, 100.0),
      factor_case("above the limit", {fixed({30, 4}), fixed({5}), fixed({})}, 0.5),
      factor_case("with a gradient of no elements", {fixed({30, 4}), fixed({0})}, 0.5),
  };
  for (const std::int64_t flag : {0, 1, 4}) {
    cases.push_back(with_flag(lamb_case("plain", Draw::uniform, 3, true), flag));
    cases.push_back(with_flag(squares_case(0.9, 0.1, true), flag));
    cases.push_back(with_flag(assign_case(), flag));
    cases.push_back(with_flag(accumulate_case(6), flag));
    cases.push_back(with_flag(accumulate_case(6, 5), flag));
    cases.push_back(accumulation_case(7, flag));
    for (const std::int64_t begun : {0, 1}) cases.push_back(average_case(begun, flag));
    cases.push_back(with_flag(sgd_case("plain", {}, false), flag));
    cases.push_back(with_flag(sgd_case("with momentum, clipped", {.momentum = 0.9}, true), flag));
    cases.push_back(with_flag(adam_case("plain", {}, 3, false), flag));
    cases.push_back(with_flag(adam_case("clipped", {}, 3, true), flag));
  }
  cases.push_back(squares_case(1.0, 1.0, false));
  cases.push_back(assign_case());
  cases.push_back(step_number_case());
  cases.push_back(accumulate_case(7, -5));
  cases.push_back(accumulate_case(7, -24));
  cases.push_back(accumulate_case(7, 5, 2));
  cases.push_back(accumulation_case(7, -1));
  for (const std::int64_t step : {0, 1, 6, 5000}) {
    cases.push_back(adamw_case(step));
    cases.push_back(lamb_case("", Draw::uniform, step, false));
    cases.push_back(lamb_case("of zeros", Draw::constant, step, false));
    cases.push_back(accumulate_case(step));
    for (const std::int64_t weight : {5, -5, 0, -24}) cases.push_back(accumulate_case(step, weight));
    cases.push_back(accumulate_case(step, {}, 2));
    cases.push_back(accumulate_case(step, 5, 2));
    for (const std::int64_t rows : {1, -1}) cases.push_back(accumulation_case(step, rows));
    cases.push_back(table_case(step));
    cases.push_back(adam_case("plain", {}, step, false));
    cases.push_back(adam_case("with all of it", {0.8, 0.99, 1e-3, 0.1}, step, true));
    cases.push_back(rate_case("constant", 0.25, step, [](double) { return 0.25; }));
    cases.push_back(rate_case("by steps", Schedule::step_decay(0.5, 3, 0.1), step,
                              [](double s) { return 0.5 * std::pow(0.1, std::floor(s / 3.0)); }));
  }
  return cases;
}

}  // namespace troupe::ops_test
