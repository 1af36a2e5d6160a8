#include "troupe/ops/elementwise.hpp"
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
      {{kBatch, 1}, {7}},  // both stretch
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
  // Eighths include zeros, where the gradient is 0.
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
