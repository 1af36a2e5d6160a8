#include <cmath>

#include "troupe/ops/library/cast.hpp"
#include "troupe/ops/library/compare.hpp"
#include "troupe/ops/library/elementwise.hpp"
#include "troupe/tests/ops/cases/op_cases.hpp"

namespace troupe::ops_test {

namespace {

struct Comparison {
  const char* name;
  Value (*op)(Value, Value);
  bool (*reference)(double, double);
};

const Comparison kComparisons[] = {
    {"equal", equal, [](double a, double b) { return a == b; }},
    {"not_equal", not_equal, [](double a, double b) { return a != b; }},
    {"less", less, [](double a, double b) { return a < b; }},
    {"less_equal", less_equal, [](double a, double b) { return a <= b; }},
    {"greater", greater, [](double a, double b) { return a > b; }},
    {"greater_equal", greater_equal, [](double a, double b) { return a >= b; }},
};

/// The element at a row and column of an operand that is stretched to [rows, 5].
double stretched(const Array& x, std::int64_t row, std::int64_t column) {
  if (x.sizes.empty()) return x.data[0];
  const auto last = x.sizes.back() == 1 ? 0 : column;
  const bool one_row = x.sizes.size() == 1 || x.sizes[0] == 1;
  return x.data[static_cast<std::size_t>((one_row ? 0 : row) * x.sizes.back() + last)];
}

/// The reference that applies f element by element to operands stretched to [rows, 5].
std::function<Arrays(const Arrays&)> table(std::function<double(const std::vector<double>&)> f) {
  return [f = std::move(f)](const Arrays& in) {
    std::int64_t rows = 1;
    for (const auto& x : in)
      if (x.sizes.size() == 2 && x.sizes[0] != 1) rows = x.sizes[0];
    Array y({rows, 5});
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < 5; ++column) {
        std::vector<double> arguments;
        for (const auto& x : in) arguments.push_back(stretched(x, row, column));
        y.at({row, column}) = f(arguments);
      }
    return Arrays{y};
  };
}

OpCase where_case(const Shape& condition, const Shape& a, const Shape& b) {
  return forward_case(
      "where " + to_string(condition) + " " + to_string(a) + " " + to_string(b),
      {{condition, Draw::mask, false}, {a}, {b}}, [](const Values& x) { return Values{where(x[0], x[1], x[2])}; },
      table([](const auto& x) { return x[0] != 0.0 ? x[1] : x[2]; }));
}

OpCase cast_case(Draw from, DType to) {
  CaseInput input{{kBatch, 3}, from, false, 7};
  return exact_case(
      std::string("cast from ") + std::string(name_of(input.dtype())) + " to " + std::string(name_of(to)), {input},
      [to](const Values& x) { return Values{cast(x[0], to)}; },
      [to](const Arrays& in) {
        auto y = in[0];
        for (auto& element : y.data) {
          if (to != DType::float32) element = std::trunc(element);
          if (to == DType::uint8) element = std::min(std::max(element, 0.0), 255.0);
        }
        return Arrays{y};
      });
}

}  // namespace

std::vector<OpCase> compare_cases() {
  std::vector<OpCase> cases;
  const auto draws = {Draw::eighths, Draw::labels, Draw::wide_labels, Draw::mask};
  for (const auto& [name, op, f] : kComparisons)
    for (const auto draw : draws) {
      const auto build = [compare = op](const Values& x) { return Values{compare(x[0], x[1])}; };
      const auto forward = table([holds = f](const auto& x) { return holds(x[0], x[1]) ? 1.0 : 0.0; });
      const auto type = " of " + std::string(name_of(CaseInput{{}, draw}.dtype()));
      cases.push_back(
          exact_case(name + type, {{{kBatch, 5}, draw, false, 3}, {{kBatch, 5}, draw, false, 3}}, build, forward));
      cases.push_back(exact_case(name + type + " with a row", {{{kBatch, 5}, draw, false, 3}, {{5}, draw, false, 3}},
                                 build, forward));
      cases.push_back(exact_case(name + type + " with a column",
                                 {{{kBatch, 1}, draw, false, 3}, {{kBatch, 5}, draw, false, 3}}, build, forward));
    }
  cases.push_back(where_case({kBatch, 5}, {kBatch, 5}, {kBatch, 5}));
  cases.push_back(where_case({kBatch, 1}, {5}, {kBatch, 5}));
  cases.push_back(where_case({5}, {kBatch, 5}, {}));
  cases.push_back(where_case({kBatch, 5}, {}, {1}));
  for (const auto from : {Draw::large, Draw::labels, Draw::wide_labels, Draw::mask})
    for (const auto to : {DType::float32, DType::int32, DType::int64, DType::uint8})
      cases.push_back(cast_case(from, to));
  cases.push_back(forward_case(
      "cast from float32 to float32 passes a gradient", {{{kBatch, 3}}},
      [](const Values& x) { return Values{cast(x[0], DType::float32)}; }, [](const Arrays& in) { return in; }));
  return cases;
}

}  // namespace troupe::ops_test
