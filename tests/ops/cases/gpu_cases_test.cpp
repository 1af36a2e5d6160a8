#include "troupe/tests/gpu.hpp"
#include "troupe/tests/ops/cases/check_case.hpp"

namespace troupe::ops_test {

TEST_CASE("every op computes on a GPU what its reference does", "[.gpu]") {
  const auto device = testing::gpu();
  if (!device) return;
  for (const auto& op_case : op_cases())
    for (const auto rows : op_case.rows()) {
      INFO(op_case.name << ", " << rows << " rows");
      CHECK_NOTHROW(check_forward(op_case, rows, *device));
    }
}

TEST_CASE("the gradient of every op on a GPU is that of its reference", "[.gpu]") {
  const auto device = testing::gpu();
  if (!device) return;
  for (const auto& op_case : op_cases())
    for (const auto rows : op_case.gradient_rows()) {
      INFO(op_case.name << ", " << rows << " rows");
      CHECK_NOTHROW(check_gradient(op_case, rows, *device));
    }
}

}  // namespace troupe::ops_test
