#include "troupe/tests/gpu.hpp"
#include "troupe/tests/ops/cases/check_case.hpp"
#include "troupe/tests/with_precision.hpp"

namespace troupe::ops_test {

TEST_CASE("products in TF32, with what is part of them, are near their references", "[.gpu]") {
  const auto device = testing::gpu();
  if (!device) return;
  const testing::WithPrecision tf32(MatmulPrecision::tf32);
  for (const auto part : {matmul_cases, gelu_cases})
    for (auto op_case : part()) {
      // A factor keeps 10 bits of its fraction.
      op_case.tolerance = 4e-3;
      for (const auto rows : op_case.rows()) {
        INFO(op_case.name << ", " << rows << " rows");
        CHECK_NOTHROW(check_forward(op_case, rows, *device));
      }
    }
}

}  // namespace troupe::ops_test
