#include <cmath>
#include <cstdio>
#include <limits>
#include <map>

#include "troupe/tests/catch.hpp"
#include "troupe/tests/gpu.hpp"
#include "troupe/tests/ops/cases/case_runner.hpp"
#include "troupe/tests/ops/cases/op_cases.hpp"

namespace troupe::ops_test {

namespace {

int special_class(double x) {
  return std::isnan(x) ? 3 : std::isinf(x) ? (x > 0 ? 2 : 1) : 0;
}

void explore(const OpCase& op_case, Device device, double value, const char* name) {
  std::int64_t rows = 0;
  for (const auto r : op_case.rows())
    if (r >= 2 && (rows == 0 || r < rows)) rows = r;
  if (rows == 0) rows = op_case.rows().front();
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
    if (op_case.inputs[i].dtype() != DType::float32) continue;
    auto inputs = draw_inputs(op_case, rows);
    if (inputs[i].data.empty()) continue;
    inputs[i].data[inputs[i].data.size() / 3] = value;
    try {
      const auto result = run_case(case_graph(op_case), "y", inputs, {}, rows, device).outputs();
      const auto expected = op_case.reference.forward(inputs);
      std::map<std::pair<int, int>, int> differ;
      for (std::size_t o = 0; o < expected.size(); ++o)
        for (std::size_t e = 0; e < expected[o].data.size(); ++e) {
          const auto a = special_class(expected[o].data[e]), b = special_class(result[o].data[e]);
          if (a != b)
            ++differ[{a, b}];
          else if (a == 0 && std::abs(expected[o].data[e] - result[o].data[e]) >
                                 1e-3 * std::max(1.0, std::abs(expected[o].data[e])))
            ++differ[{9, 9}];
        }
      for (const auto& [classes, count] : differ)
        std::printf("SPECIAL %s %s input %zu rows %ld: reference %d kernel %d: %d\n", op_case.name.c_str(), name, i,
                    (long)rows, classes.first, classes.second, count);
    } catch (const std::exception& error) {
      std::printf("THROWS %s %s input %zu: %.150s\n", op_case.name.c_str(), name, i, error.what());
    }
  }
}

}  // namespace

TEST_CASE("explore special values", "[.explore]") {
  for (const auto& op_case : op_cases()) {
    explore(op_case, Device{}, std::numeric_limits<double>::quiet_NaN(), "nan");
    explore(op_case, Device{}, std::numeric_limits<double>::infinity(), "inf");
    explore(op_case, Device{}, -std::numeric_limits<double>::infinity(), "-inf");
  }
}

}  // namespace troupe::ops_test
