#include "troupe/ops/library/cast.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/tests/ops/cases/op_cases.hpp"

namespace troupe::ops_test {

namespace {

struct Binary {
  const char* name;
  Value (*op)(Value, Value);
  Reference (*reference)();
};

constexpr Binary kBinaries[] = {
    {"add", add, reference::add}, {"sub", sub, reference::sub}, {"mul", mul, reference::mul}};

/// The shapes of two operands.
struct Pair {
  Shape a, b;
};

std::vector<Pair> pairs() {
  return {
      {{kBatch, 5}, {kBatch, 5}},
      {{kBatch, 5}, {5}},  // a row
      {{5}, {kBatch, 5}},
      {{kBatch, 5}, {kBatch, 1}},  // a column
      {{kBatch, 1}, {kBatch, 5}},
      {{kBatch, 5}, {}},  // a scalar
      {{}, {kBatch, 5}},
      {{kBatch, 1}, {7}},  // both are stretched
      {{1, 3}, {kBatch, 3}},
      {{kBatch, 2, 3}, {1, 2, 1}},
      {{kBatch, 1, 1}, {1, 1, 1}},
      {{kBatch}, {kBatch}},
      {{kBatch}, {1}},
      {{}, {}},
      {{4, 1, 3}, {2, 1}},
      {{2, 3, 4, 5}, {3, 1, 5}},
      {{2, 1, 2, 1, 2, 3}, {3, 1, 2, 1, 1}},
      {{0, 3}, {3}},
  };
}

Arrays sum(const Arrays& in) {
  auto y = in[0];
  for (std::size_t k = 1; k < in.size(); ++k)
    for (std::size_t i = 0; i < y.data.size(); ++i) y.data[i] += in[k].data[i];
  return {y};
}

/// A sum of `count` inputs of a dtype other than float32. The numbers are small, so that sums are exact in every dtype.
OpCase exact_sum_case(std::size_t count, Draw draw, DType dtype) {
  const std::vector<CaseInput> inputs(count, {{kBatch, 5}, draw, false, 9});
  const auto build = [dtype](const Values& x) {
    Values same;
    for (const auto& value : x) same.push_back(cast(value, dtype));
    return Values{cast(add_n(same), x[0].dtype())};
  };
  return exact_case("add_n of " + std::to_string(count) + " " + std::string(name_of(dtype)), inputs, build, sum);
}

void add_sum_cases(std::vector<OpCase>& cases) {
  for (const std::size_t count : {1, 2, 5, 130})
    cases.push_back(forward_case(
        "add_n of " + std::to_string(count) + " float32", std::vector<CaseInput>(count, {{kBatch, 3}}),
        [](const Values& x) { return Values{add_n(x)}; }, sum));
  // The tolerance grows with the number of additions, each of which rounds.
  for (auto& sums : cases) sums.roundings = 2.0 + 0.25 * static_cast<double>(sums.inputs.size());
  cases.push_back(exact_sum_case(3, Draw::labels, DType::int32));
  cases.push_back(exact_sum_case(3, Draw::wide_labels, DType::int64));
  for (const std::size_t count : {3, 70})
    for (const auto dtype : {DType::float16, DType::bfloat16})
      cases.push_back(exact_sum_case(count, Draw::eighths, dtype));
}

}  // namespace

std::vector<OpCase> elementwise_cases() {
  std::vector<OpCase> cases;
  for (const auto& [name, op, make] : kBinaries)
    for (const auto& [a, b] : pairs())
      cases.push_back({std::string(name) + " " + to_string(a) + " " + to_string(b),
                       {{a}, {b}},
                       [f = op](const Values& x) { return Values{f(x[0], x[1])}; },
                       make()});
  cases.push_back({"mul of a value with itself",
                   {{{kBatch, 3}}},
                   [](const Values& x) { return Values{mul(x[0], x[0])}; },
                   reference::square()});
  for (const auto& [a, b] : pairs())
    cases.push_back({"div " + to_string(a) + " " + to_string(b),
                     {{a}, {b, Draw::near_one}},
                     [](const Values& x) { return Values{div(x[0], x[1])}; },
                     reference::div()});
  for (const auto& shape : {Shape{kBatch, 7}, Shape{kBatch}, Shape{3, 1, 5}, Shape{}}) {
    cases.push_back({"scale " + to_string(shape),
                     {{shape}},
                     [](const Values& x) { return Values{scale(x[0], -2.5)}; },
                     reference::scale(-2.5)});
    cases.push_back({"relu " + to_string(shape),
                     {{shape, Draw::away_from_zero}},
                     [](const Values& x) { return Values{relu(x[0])}; },
                     reference::relu(),
                     0.0});
  }
  add_sum_cases(cases);
  // Eighths include zeros, at which the gradient is 0.
  cases.push_back({"relu with zeros",
                   {{{kBatch, 40}, Draw::eighths}},
                   [](const Values& x) { return Values{relu(x[0])}; },
                   reference::relu(),
                   0.0,
                   nullptr,
                   false});
  return cases;
}

}  // namespace troupe::ops_test
