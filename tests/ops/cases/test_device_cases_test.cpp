#include "troupe/tests/catch.hpp"
#include "troupe/tests/ops/cases/case_runner.hpp"
#include "troupe/tests/test_device/test_device.hpp"

namespace troupe::ops_test {

namespace {

/// Checks that a graph gives the same bits on the CPU and on a test device.
void check_same_bits(const Graph& graph, const std::string& prefix, const Arrays& inputs, const Array& dy,
                     std::int64_t rows) {
  const auto on_cpu = run_case(graph, prefix, inputs, dy, rows);
  const auto on_device = run_case(graph, prefix, inputs, dy, rows, testing::test_device(1));
  REQUIRE(on_device.tensors.size() == on_cpu.tensors.size());
  for (std::size_t i = 0; i < on_cpu.tensors.size(); ++i) CHECK(same_bits(on_device.tensors[i], on_cpu.tensors[i]));
  CHECK(on_device.repeats);
}

}  // namespace

TEST_CASE("every op has the CPU's bits on a device of memory apart", "[test device]") {
  for (const auto& op_case : op_cases())
    for (const auto rows : op_case.rows()) {
      INFO(op_case.name << ", " << rows << " rows");
      const auto inputs = draw_inputs(op_case, rows);
      check_same_bits(case_graph(op_case), "y", inputs, {}, rows);
    }
}

TEST_CASE("every gradient has the CPU's bits on a device of memory apart", "[test device]") {
  for (const auto& op_case : op_cases())
    for (const auto rows : op_case.gradient_rows()) {
      INFO(op_case.name << ", " << rows << " rows");
      const auto inputs = draw_inputs(op_case, rows);
      const auto dy = draw_weights(op_case.reference.forward(inputs)[0].sizes);
      check_same_bits(case_gradient_graph(op_case), "dx", inputs, dy, rows);
    }
}

}  // namespace troupe::ops_test
